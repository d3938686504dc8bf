/** Changes that were read and are not handed on yet: the last of each name, so that a slow reader gets changes joined. */
export interface PendingOptions<Change> {
  /** Changes of one name replace each other. */
  readonly nameOf: (change: Change) => string;
  readonly nowMs: () => number;
}

/** Changes by name that wait for a reader, the last of each name. */
export class PendingChanges<Change> {
  readonly #options: PendingOptions<Change>;
  #changes = new Map<string, Change>();
  #sinceMs: number | undefined;

  constructor(options: PendingOptions<Change>) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#changes.size === 0;
  }

  add(change: Change): void {
    const { nameOf, nowMs } = this.#options;
    this.#sinceMs ??= nowMs();
    const name = nameOf(change);
    this.#changes.delete(name);
    this.#changes.set(name, change);
  }

  /** Leaves out what is known to be over. */
  drop(isOver: (change: Change) => boolean): void {
    for (const [name, change] of this.#changes) if (isOver(change)) this.#changes.delete(name);
  }

  /** In the order in which each was last changed, with the time of the first change; now, when there is none. */
  take(): { readonly changes: Change[]; readonly eventTimeMs: number } {
    const taken = { changes: [...this.#changes.values()], eventTimeMs: this.#sinceMs ?? this.#options.nowMs() };
    this.#changes = new Map();
    this.#sinceMs = undefined;
    return taken;
  }
}

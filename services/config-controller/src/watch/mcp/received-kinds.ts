/**
 * Tracks the requested kinds that a server has sent, by type URL. Servers that support some kinds only tend not to answer the others at
 * all: after a while that counts as an answer too.
 */
export class ReceivedKinds {
  readonly #asked: ReadonlySet<string>;
  readonly #received = new Set<string>();
  readonly #silent = new Set<string>();
  /** As of the last complete group. */
  #missing: ReadonlySet<string> = new Set();
  #isMore = false;

  constructor(asked: Iterable<string>) {
    this.#asked = new Set(asked);
  }

  /** All were received, if only by the server's silence. */
  get isComplete(): boolean {
    return this.#received.size === this.#asked.size;
  }

  /** More was received than when the last complete group was given. */
  get isMore(): boolean {
    return this.#isMore;
  }

  /** Kinds that count as received after a silence. */
  get silent(): Iterable<string> {
    return this.#silent;
  }

  /** The last complete group had nothing of this kind. */
  isIncomplete(typeUrl: string): boolean {
    return this.#missing.has(typeUrl);
  }

  answered(typeUrl: string): void {
    this.#silent.delete(typeUrl);
    this.#add(typeUrl);
  }

  /** No more answers are waited for. Gives those that were not answered. */
  passSilence(): readonly string[] {
    const silent = this.#remaining();
    for (const url of silent) {
      this.#silent.add(url);
      this.#add(url);
    }
    return silent;
  }

  /** A group is given; a complete one has all kinds that were received. */
  noteGroup(isComplete: boolean): void {
    if (isComplete) this.#missing = new Set(this.#remaining());
    this.#isMore = false;
  }

  #remaining(): readonly string[] {
    return [...this.#asked].filter((url) => !this.#received.has(url));
  }

  #add(typeUrl: string): void {
    if (this.#received.has(typeUrl) || !this.#asked.has(typeUrl)) return;
    this.#received.add(typeUrl);
    this.#isMore = true;
  }
}

/** Readiness of a service, and its problems although it is ready. */

/** `blocks`: not ready as long as it holds. Others are only shown: a service whose bus is away still serves. */
export interface Condition {
  readonly name: string;
  readonly detail: string;
  readonly blocks: boolean;
  readonly sinceMs: number;
}

/** The body of `/ready`: state, and the conditions that are not well. */
export interface ReadyReport {
  readonly ready: boolean;
  readonly state: "starting" | "ready" | "stopping";
  readonly conditions: readonly {
    readonly name: string;
    readonly detail: string;
    readonly blocks: boolean;
    readonly since: string;
  }[];
}

/** The state of a service between start and stop, and conditions that may block its readiness. */
export class Readiness {
  #state: ReadyReport["state"] = "starting";
  #readySinceMs: number | undefined;
  readonly #conditions = new Map<string, Condition>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The first snapshot is complete and its content is served. */
  markReady(): void {
    if (this.#state !== "starting") return;
    this.#state = "ready";
    this.#readySinceMs = this.#now();
  }

  /** When the service became ready. */
  get readySinceMs(): number | undefined {
    return this.#readySinceMs;
  }

  /** For good: senders of traffic should stop while open requests still end well. */
  markStopping(): void {
    this.#state = "stopping";
  }

  /** Sets what holds now; `detail` undefined takes it back. `sinceMs` stays while the condition does. */
  setCondition(name: string, detail: string | undefined, { blocks = false }: { readonly blocks?: boolean } = {}): void {
    if (detail === undefined) {
      this.#conditions.delete(name);
      return;
    }
    const sinceMs = this.#conditions.get(name)?.sinceMs ?? this.#now();
    this.#conditions.set(name, { name, detail, blocks, sinceMs });
  }

  report(): ReadyReport {
    const conditions = [...this.#conditions.values()];
    return {
      ready: this.#state === "ready" && !conditions.some(({ blocks }) => blocks),
      state: this.#state,
      conditions: conditions.map(({ name, detail, blocks, sinceMs }) => ({
        name,
        detail,
        blocks,
        since: new Date(sinceMs).toISOString(),
      })),
    };
  }
}

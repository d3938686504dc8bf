/** Callers that send one request after the other, each without a pause, and note what they see. */
import type { Answer } from "../client.ts";

export class ConstantCallers {
  /** Values of the header by which the waypoint shows that a request came through it. */
  readonly seen = new Set<string>();
  readonly failed: string[] = [];
  count = 0;
  readonly call: () => Promise<Answer>;
  readonly #lanes: number;
  readonly #stop = new AbortController();
  #running: readonly Promise<void>[] = [];

  constructor(call: () => Promise<Answer>, lanes: number) {
    this.call = call;
    this.#lanes = lanes;
  }

  start(): void {
    this.#running = Array.from({ length: this.#lanes }, () => this.#lane());
  }

  /** Forgets what was seen so far. */
  takeSeen(): ReadonlySet<string> {
    const taken = new Set(this.seen);
    this.seen.clear();
    return taken;
  }

  /** Resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  async #lane(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const { status, body, reply } = await this.call();
      this.count++;
      if (status !== 200) this.failed.push(`${status} ${body}`);
      this.seen.add(String(reply?.headers["x-way"]));
    }
  }
}

/** Requests through the demo's two sidecars all the time: how many failed, and which version answers now. */
import { call } from "@flotilla/cli/testing";
import { delay } from "@flotilla/runtime";

const host = "reviews.shop.svc.cluster.local:8080";
const everyMs = 20;
/** As many in a row from one version: it is in effect. */
const certain = 10;

export class RequestLoad implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #recent: string[] = [];
  #answered = 0;
  #failed = 0;

  constructor() {
    this.#running = this.#run();
  }

  counts(): { readonly answered: number; readonly failed: number } {
    return { answered: this.#answered, failed: this.#failed };
  }

  answersWith(version: string): boolean {
    return this.#recent.length === certain && this.#recent.every((one) => one === version);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await Promise.all([this.#request(), delay(everyMs)]);
    }
  }

  async #request(): Promise<void> {
    try {
      const { status, reply } = await call(host);
      if (status !== 200) throw new Error(`status ${status}`);
      this.#answered++;
      this.#recent.push(reply?.version ?? "");
      this.#recent.splice(0, Math.max(0, this.#recent.length - certain));
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#failed++;
      process.stderr.write(`${new Date().toISOString()} request failed: ${String(error)}\n`);
    }
  }
}

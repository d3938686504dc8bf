/** One of several replicas does what must be done once: it holds a lease, a shared value that vanishes unless it is written again. */
import type { KeyValue } from "./key-value.ts";

/** The bucket, the key and the holder of the lease; times in milliseconds. */
export interface LeaseOptions {
  /** A bucket whose values vanish after `ttlMs`. */
  readonly values: KeyValue;
  readonly key: string;
  /** Names this process among all that ask. */
  readonly holder: string;
  readonly ttlMs: number;
  /** Monotonic: elapsed time is measured. */
  readonly nowMs: () => number;
  /** A machine that slept has lost its lease, though `nowMs` may not have gone on. */
  readonly wallClockMs: () => number;
}

/** A lease in a bucket; it is lost `ttlMs` after the last successful renewal. */
export class Lease {
  readonly #options: LeaseOptions;
  #until = { steadyMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
  /** Of our last write. */
  #revision = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** As far as is known here: false well before somebody else can have it. */
  get isHeld(): boolean {
    return this.heldForMs > 0;
  }

  /** How long it is held unless it is renewed; 0 when it is not. */
  get heldForMs(): number {
    const { nowMs, wallClockMs } = this.#options;
    return Math.max(0, Math.min(this.#until.steadyMs - nowMs(), this.#until.wallMs - wallClockMs()));
  }

  /** Takes or keeps it; to be called several times in `ttlMs`. False when somebody else has it. @throws what the bus throws */
  async hold(): Promise<boolean> {
    const { values, key, holder } = this.#options;
    // A value with our last revision is ours: it need not be read.
    if (this.isHeld && (await this.#write(this.#revision))) return true;
    const found = await values.get(key);
    const isOurs = found?.value !== undefined && new TextDecoder().decode(found.value) === holder;
    if (found !== undefined && !isOurs) return this.#lose();
    return (await this.#write(found?.revision ?? 0)) || this.#lose();
  }

  /** Somebody else may have it at once. */
  async release(): Promise<void> {
    const { values, key } = this.#options;
    if (this.isHeld) await values.delete(key);
    this.#lose();
  }

  /** False when the value has another revision. */
  async #write(over: number): Promise<boolean> {
    const { values, key, holder, ttlMs, nowMs, wallClockMs } = this.#options;
    const [askedMs, askedWallMs] = [nowMs(), wallClockMs()];
    const revision = await values.update(key, new TextEncoder().encode(holder), over);
    if (revision === undefined) return false;
    // Two thirds: our clock may run slower than that of the server.
    const heldMs = (ttlMs * 2) / 3;
    this.#until = { steadyMs: askedMs + heldMs, wallMs: askedWallMs + heldMs };
    this.#revision = revision;
    return true;
  }

  #lose(): false {
    this.#until = { steadyMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
    return false;
  }
}

/** Finds connections that are dead or too old. One timer for all: most connections are idle, and there are thousands. */
import { constants, type ServerHttp2Session } from "node:http2";
import { onSharedTick } from "@flotilla/runtime";

/** Intervals and ages of connections, in milliseconds. */
export interface KeeperOptions {
  /** How often a connection is asked whether it is there, and how long it may take to answer. */
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Maximum age of a connection, ±10 % jitter; it is cut after the grace; undefined: never. */
  readonly maxAgeMs: number | undefined;
  readonly maxAgeGraceMs: number;
}

interface Watched {
  pingAtMs: number;
  retireAtMs: number;
  cutAtMs: number;
}

/** Sends keepalive pings and ends connections that are dead or too old; disposing of it stops its timer. */
export class ConnectionKeeper implements Disposable {
  readonly #options: KeeperOptions;
  readonly #watched = new Map<ServerHttp2Session, Watched>();
  readonly #endLooking: () => void;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { keepaliveMs, keepaliveTimeoutMs, maxAgeMs = Number.POSITIVE_INFINITY, maxAgeGraceMs } = options;
    const shortest = Math.min(keepaliveMs, keepaliveTimeoutMs, maxAgeMs, maxAgeGraceMs);
    this.#endLooking = lookEvery(Math.max(10, shortest / 4), () => this.#look());
  }

  get size(): number {
    return this.#watched.size;
  }

  watch(session: ServerHttp2Session): void {
    const { keepaliveMs, maxAgeMs = Number.POSITIVE_INFINITY } = this.#options;
    const now = performance.now();
    const retireAtMs = now + maxAgeMs * (0.9 + 0.2 * Math.random());
    this.#watched.set(session, { pingAtMs: now + keepaliveMs, retireAtMs, cutAtMs: Number.POSITIVE_INFINITY });
    session.once("close", () => this.#watched.delete(session));
  }

  /** Sends every client GOAWAY; calls may go on for `graceMs`. */
  drain(graceMs: number): void {
    for (const [session, watched] of this.#watched)
      retire(session, watched, performance.now() + graceMs, "server goes");
    setTimeout(() => this.destroy(), graceMs).unref();
  }

  destroy(): void {
    for (const session of this.#watched.keys()) session.destroy();
  }

  [Symbol.dispose](): void {
    this.#endLooking();
  }

  #look(): void {
    const now = performance.now();
    const { keepaliveMs, keepaliveTimeoutMs, maxAgeGraceMs } = this.#options;
    for (const [session, watched] of this.#watched) {
      if (now >= watched.cutAtMs) session.destroy();
      else if (now >= watched.retireAtMs) retire(session, watched, now + maxAgeGraceMs, "max_age");
      else if (now >= watched.pingAtMs) {
        watched.pingAtMs = now + keepaliveMs;
        ask(session, keepaliveTimeoutMs);
      }
    }
  }
}

const longestMs = 1_000;

/** The process has other loops of a second, which wake it up anyway. */
function lookEvery(ms: number, look: () => void): () => void {
  if (ms >= longestMs) return onSharedTick(look);
  const timer = setInterval(look, ms).unref();
  return () => clearInterval(timer);
}

/** GOAWAY without the last stream that was begun: all that are under way may go on. */
const everyStream = 2 ** 31 - 1;

function retire(session: ServerHttp2Session, watched: Watched, cutAtMs: number, reason: string): void {
  watched.retireAtMs = Number.POSITIVE_INFINITY;
  watched.cutAtMs = cutAtMs;
  if (session.destroyed || session.closed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, everyStream, Buffer.from(reason));
  session.close();
}

function ask(session: ServerHttp2Session, timeoutMs: number): void {
  if (session.destroyed) return;
  const timer = setTimeout(() => session.destroy(), timeoutMs).unref();
  try {
    if (!session.ping(() => clearTimeout(timer))) clearTimeout(timer);
  } catch {
    // It closes at this very moment.
    clearTimeout(timer);
  }
}

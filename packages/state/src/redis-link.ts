/** The connection to Redis: commands fail at once while it is away, and it connects for ever. */
import type { Logger } from "@flotilla/runtime";
import { Redis } from "ioredis";
import { StateError } from "./errors.ts";
import { redisOptions } from "./redis-url.ts";
import type { StoreState } from "./snapshot-store.ts";

/** Address of the server, log and clock. */
export interface RedisLinkOptions {
  /** As `redis-url.ts` reads it. */
  readonly url: string;
  readonly log: Logger;
  readonly nowMs: () => number;
}

/** Longer than loading the largest snapshot takes; a server that hangs is as good as away. */
const commandTimeoutMs = 15_000;
const againAfterMs = 500;

/** A connection to Redis whose commands fail at once while it is away. */
export class RedisLink {
  readonly #redis: Redis;
  readonly #options: RedisLinkOptions;
  readonly #listeners = new Set<(state: StoreState) => void>();
  #state: StoreState;
  #isClosed = false;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.#state = { connected: false, sinceMs: options.nowMs(), reason: "connecting" };
    // Commands fail while Redis is away, instead of piling up: callers try again with the state of that time.
    this.#redis = new Redis({
      ...redisOptions(options.url),
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout: commandTimeoutMs,
      retryStrategy: (times) => Math.min(50 * times, 1_000),
      // After a failover the address may lead to a replica: the next connection finds the primary.
      reconnectOnError: (error) => error.message.startsWith("READONLY"),
    });
    this.#redis.on("ready", () => this.#setState({ connected: true }));
    this.#redis.on("error", (error: Error) => this.#away(error.message));
    this.#redis.on("close", () => this.#away("connection closed"));
    this.#redis.on("end", () => this.#connectAgain());
  }

  get state(): StoreState {
    return this.#state;
  }

  onState(listener: (state: StoreState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @throws StateError STATE_AWAY with the failure as its cause */
  async use<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      return await command(this.#redis);
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      throw new StateError("STATE_AWAY", `redis does not do it: ${text}`, { cause });
    }
  }

  /** Ends once `most` are found, which are returned then. @throws StateError STATE_AWAY */
  async keysLike(pattern: string, most: number): Promise<readonly string[]> {
    const found = new Set<string>();
    let cursor = "0";
    do {
      const at = cursor;
      const [next, some] = await this.use((redis) => redis.scan(at, "MATCH", pattern, "COUNT", 500));
      for (const key of some) found.add(key);
      cursor = next;
    } while (cursor !== "0" && found.size < most);
    return [...found].slice(0, most);
  }

  /** `farewell` is a last command, which is left out when Redis is away. */
  async close(farewell: (redis: Redis) => Promise<unknown>): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      if (this.#state.connected) await this.use(farewell);
    } catch (error) {
      this.#options.log.debug("redis connection lost during shutdown", { error });
    }
    this.#redis.disconnect();
  }

  /** The client gives up for good after an exception in its attempt, as with a certificate and a key of two renewals. */
  #connectAgain(): void {
    if (this.#isClosed) return;
    const timer = setTimeout(() => {
      // A failure is an `error` event too.
      if (!this.#isClosed) this.#redis.connect().catch(() => undefined);
    }, againAfterMs);
    timer.unref();
  }

  #away(reason: string): void {
    if (this.#isClosed) return;
    const sinceMs = this.#state.connected ? this.#options.nowMs() : this.#state.sinceMs;
    this.#setState({ connected: false, sinceMs, reason });
  }

  #setState(state: StoreState): void {
    const before = this.#state;
    this.#state = state;
    const isFirstFailure = !before.connected && before.reason === "connecting";
    if (state.connected === before.connected && !isFirstFailure) return;
    if (state.connected) this.#options.log.info("redis connected");
    else this.#options.log.warn("redis unreachable", { reason: state.reason });
    for (const listener of [...this.#listeners]) listener(state);
  }
}

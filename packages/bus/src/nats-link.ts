/**
 * The connection of a bus to its stream: whether it stands, which stream it is. Lost and back are
 * reported once each; back means that the stream answers, not only that the connection stands.
 */
import { type Logger, orAborted, timeLimit } from "@flotilla/runtime";
import { Events, type JetStreamManager, type NatsConnection } from "nats";
import type { BusState } from "./bus.ts";
import { BusError } from "./errors.ts";
import { closeConnection, retryUntilAborted } from "./nats-connection.ts";
import { horizonOf, openStream, type StreamLook } from "./nats-stream.ts";

/** A connection and the stream that it is to reach. */
export interface LinkOptions {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly replicas: number;
  readonly log: Logger;
  readonly nowMs: () => number;
}

/** How long a request waits for servers that are away: as long as for its answer. */
const waitMs = 5_000;

/** Tracks whether the stream answers, and its epoch. */
export class NatsLink {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly #options: LinkOptions;
  readonly #stateListeners = new Set<(state: BusState) => void>();
  readonly #epochListeners = new Set<(epoch: string) => void>();
  readonly #closing = new AbortController();
  #lost = new AbortController();
  #back = Promise.withResolvers<void>();
  #state: BusState = { connected: true };
  #epoch: string;

  constructor(options: LinkOptions, { epoch }: StreamLook) {
    this.connection = options.connection;
    this.manager = options.manager;
    this.#options = options;
    this.#epoch = epoch;
    this.#back.resolve();
    void this.#watchConnection();
  }

  get state(): BusState {
    return this.#state;
  }

  get epoch(): string {
    return this.#epoch;
  }

  /**
   * The server that answers, as long as it runs: one that was started again has another name. Undefined in a cluster, where any of
   * several may lead the stream.
   */
  get server(): string | undefined {
    const { info } = this.connection;
    return info?.cluster === undefined ? info?.server_id : undefined;
  }

  /** Fires when the connection or the stream is lost: requests without an answer need not wait any longer. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Fires with BUS_CLOSED. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Resolves when the stream answers. @throws BusError BUS_CLOSED; the reason of `stop` */
  async whenBack(stop: AbortSignal = this.closed): Promise<void> {
    await orAborted(this.#back.promise, stop);
    this.closed.throwIfAborted();
  }

  /**
   * Sends a request when the stream answers, and gives it up when the connection is lost: the client library drops what waits to be sent at
   * each attempt to connect, and such a request would end with its time-out, seconds after the servers are back.
   * @throws BusError BUS_CONNECT, BUS_CLOSED
   */
  async request<T>(send: () => Promise<T>): Promise<T> {
    if (!this.#state.connected) await this.#whenBackSoon();
    return orAborted(send(), this.lost);
  }

  onState(listener: (state: BusState) => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  onEpoch(listener: (epoch: string) => void): () => void {
    this.#epochListeners.add(listener);
    return () => this.#epochListeners.delete(listener);
  }

  /** Where the stream ends now. A stream that is gone is made anew, and listeners are called. */
  async look(): Promise<StreamLook & { readonly horizon: number }> {
    const { log } = this.#options;
    const look = await openStream(this.#options);
    if (look.epoch !== this.#epoch) {
      log.warn("stream lost and created again", { before: this.#epoch, now: look.epoch });
      this.#epoch = look.epoch;
      // Readers of the old stream wait for nothing.
      this.#lost.abort(new BusError("BUS_CONNECT", "the stream was lost"));
      this.#lost = new AbortController();
      for (const listener of [...this.#epochListeners]) listener(look.epoch);
    }
    return { ...look, horizon: await horizonOf(this.manager) };
  }

  async close(): Promise<void> {
    if (this.closed.aborted) return;
    const reason = new BusError("BUS_CLOSED", "the bus is closed");
    this.#closing.abort(reason);
    this.#lost.abort(reason);
    this.#back.resolve();
    await closeConnection(this.connection);
  }

  async #whenBackSoon(): Promise<void> {
    using limit = timeLimit(waitMs, this.closed);
    try {
      await this.whenBack(limit.signal);
    } catch (error) {
      this.closed.throwIfAborted();
      throw new BusError("BUS_CONNECT", `the servers were away for ${waitMs} ms`, { cause: error });
    }
  }

  async #watchConnection(): Promise<void> {
    for await (const { type, data } of this.connection.status()) {
      if (type === Events.Disconnect) this.#onLost(String(data));
      else if (type === Events.Reconnect) void this.#onBack();
    }
  }

  #onLost(reason: string): void {
    this.#lost.abort(new BusError("BUS_CONNECT", `the connection to ${reason} is lost`));
    if (!this.#state.connected) return;
    this.#back = Promise.withResolvers();
    this.#setState({ connected: false, sinceMs: this.#options.nowMs(), reason });
    this.#options.log.warn("nats disconnected", { reason });
  }

  async #onBack(): Promise<void> {
    const { log } = this.#options;
    this.#lost = new AbortController();
    const until = AbortSignal.any([this.closed, this.lost]);
    try {
      await retryUntilAborted(() => this.look(), { what: "jetstream", log }, until);
    } catch (error) {
      log.debug("unreachable again before the stream answered", { error });
      return;
    }
    this.#setState({ connected: true });
    this.#back.resolve();
    log.info("nats reconnected");
  }

  #setState(state: BusState): void {
    this.#state = state;
    for (const listener of [...this.#stateListeners]) listener(state);
  }
}

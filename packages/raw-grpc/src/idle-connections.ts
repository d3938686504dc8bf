/**
 * Limits the connections without a request: each costs about 14 kB and a file descriptor, and nothing else would end it before the keepalive.
 * The oldest is closed for the next. A call that was opened and sends no request does not make its connection active (decision 0381).
 */
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";

/** Limits of connections without a request. */
export interface IdleBounds {
  readonly perAddress: number;
  readonly inAll: number;
}

const maxIdlePerAddress = 2_048;
const maxIdle = 8_192;
/** Limits of a server that sets none. */
export const defaultIdleBounds: IdleBounds = { perAddress: maxIdlePerAddress, inAll: maxIdle };

/** The calls of one connection. */
export interface ConnectionUse {
  /** A call was opened: the connection is active until the call ends or the server starts to read it. */
  begin(stream: ServerHttp2Stream): void;
  /** The server reads the call: the connection is idle until a complete request arrives. */
  awaitRequest(stream: ServerHttp2Stream): void;
  /** A complete request arrived: the connection is active until the call ends. */
  keep(stream: ServerHttp2Stream): void;
}

/** Follows the requests of connections, and closes idle ones beyond the bounds. */
export class IdleConnections {
  readonly #bounds: IdleBounds;
  readonly #onClosed: () => void;
  /** Idle connections by address, oldest first. */
  readonly #byAddress = new Map<string, Set<ServerHttp2Session>>();
  #inAll = 0;

  /** `onClosed` is called for each connection that is closed for another. */
  constructor(bounds: IdleBounds, onClosed: () => void) {
    this.#bounds = bounds;
    this.#onClosed = onClosed;
  }

  /** `address`: without the port. */
  watch(session: ServerHttp2Session, address: string): ConnectionUse {
    const keeping = new Set<ServerHttp2Stream>();
    const keep = (stream: ServerHttp2Stream): void => {
      if (stream.closed || keeping.has(stream)) return;
      keeping.add(stream);
      this.#remove(session, address);
    };
    const release = (stream: ServerHttp2Stream): void => {
      if (keeping.delete(stream) && keeping.size === 0 && !session.destroyed) this.#add(session, address);
    };
    this.#add(session, address);
    session.once("close", () => this.#remove(session, address));
    const begin = (stream: ServerHttp2Stream): void => {
      keep(stream);
      stream.once("close", () => release(stream));
    };
    return { begin, awaitRequest: release, keep };
  }

  #add(session: ServerHttp2Session, address: string): void {
    const { perAddress, inAll } = this.#bounds;
    const idle = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, idle.add(session));
    this.#inAll++;
    if (idle.size > perAddress) this.#closeOldest(address);
    else if (this.#inAll > inAll) this.#closeOldest(this.#crowdedAddress());
  }

  #closeOldest(address: string): void {
    const [oldest] = this.#byAddress.get(address) ?? [];
    if (oldest === undefined) return;
    this.#remove(oldest, address);
    oldest.destroy();
    this.#onClosed();
  }

  /** The one with the most of them. */
  #crowdedAddress(): string {
    let [crowded, most] = ["", 0];
    for (const [address, { size }] of this.#byAddress) if (size > most) [crowded, most] = [address, size];
    return crowded;
  }

  /** Safe to call twice. */
  #remove(session: ServerHttp2Session, address: string): void {
    const idle = this.#byAddress.get(address);
    if (idle?.delete(session) !== true) return;
    this.#inAll--;
    if (idle.size === 0) this.#byAddress.delete(address);
  }
}

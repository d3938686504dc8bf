/**
 * Accepts TLS connections so that honest handshakes come first. A connection counts for nothing until its ClientHello is there; those
 * with one start a few in each turn of the event loop, the addresses in turns. When thousands of proxies come back at once, probes and
 * open streams have their share of every turn.
 */
import { createServer, type Server, type Socket } from "node:net";
import type { Server as TlsServer } from "node:tls";
import { addressOf, type HelloLimits, HelloWait, type SilentEnd } from "./hello-wait.ts";

/** Bounds of TLS handshakes, in milliseconds and in connections. */
export interface HandshakeLimits extends HelloLimits {
  /** Handshakes that start in one turn of the event loop. */
  readonly startsPerTurn: number;
  /** Handshakes under way at a time. */
  readonly maxStarting: number;
  /** A handshake that takes longer makes room: clients that go no further do not keep the others out. */
  readonly startingMs: number;
  /** Connections that may wait to start; the address with most of them loses its oldest. */
  readonly maxWaiting: number;
}

/** `overload`: too many wait to start. */
export type DropReason = SilentEnd | "overload";

/** Connections without a ClientHello, in all and of one address. */
const maxSilent = 16_384;
const maxSilentPerAddress = 4_096;
/** A handshake costs about a millisecond and, while it is under way, about 50 kB: 3,200 of them that go no further cost 160 MB. */
export const defaultHandshakeLimits: HandshakeLimits = {
  startsPerTurn: 4,
  maxStarting: 32,
  startingMs: 100,
  helloMs: 10_000,
  maxSilent,
  maxSilentPerAddress,
  maxWaiting: 20_000,
};

/** Bounds and callbacks of `createPacedListener`. */
export interface PacedListenerOptions extends HandshakeLimits {
  /** `finished` is called when the handshake has succeeded. */
  readonly onConnection: (socket: Socket, finished: () => void) => void;
  readonly onDropped: (address: string, reason: DropReason) => void;
}

/** A TCP server that is not listening yet, with the queue of connections in front of TLS. */
export interface PacedListener {
  readonly server: Server;
  /** Closes those that have not started. */
  closeWaiting(): void;
}

/**
 * Creates the listener; the caller binds `server`. Addresses take turns, so that one of them cannot hold up the others.
 */
export function createPacedListener(options: PacedListenerOptions): PacedListener {
  const { add, closeWaiting } = paceConnections(options);
  return { server: createServer({ pauseOnConnect: true }, add), closeWaiting };
}

/**
 * Paces the handshakes of a TLS server that accepts connections itself and was made with `pauseOnConnect`; the result closes those that have not
 * started.
 */
export function paceHandshakes(server: TlsServer, options: Omit<PacedListenerOptions, "onConnection">): () => void {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  /** The TLS server does not distinguish which socket a connection came from; its two ends do. */
  const handshakes = new Map<string, () => void>();
  const onConnection = (socket: Socket, finished: () => void): void => {
    const peer = peerOf(socket);
    handshakes.set(peer, finished);
    socket.once("close", () => handshakes.delete(peer));
    for (const listener of listeners) listener.call(server, socket);
  };
  const { add, closeWaiting } = paceConnections({ ...options, onConnection });
  server.on("connection", add);
  server.on("secureConnection", (socket) => handshakes.get(peerOf(socket))?.());
  return closeWaiting;
}

/** The remote address and port: unlike a socket, the same before and after TLS. */
export function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function paceConnections(options: PacedListenerOptions) {
  const starts = new Starts(options);
  const silent = new HelloWait({ ...options, onHello: (socket) => starts.add(socket) });
  return {
    /** The socket is paused. */
    add: (socket: Socket): void => {
      // A caller that gives up before its turn is no failure of ours.
      socket.on("error", ignore);
      silent.add(socket);
    },
    closeWaiting: (): void => {
      silent[Symbol.dispose]();
      starts.closeWaiting();
    },
  };
}

/** Connections whose hello is there. */
class Starts {
  readonly #options: PacedListenerOptions;
  /** Those that wait by address, in the order of the addresses' turns. */
  readonly #lines = new Map<string, Set<Socket>>();
  #waiting = 0;
  #starting = 0;
  #isDue = false;

  constructor(options: PacedListenerOptions) {
    this.#options = options;
  }

  add(socket: Socket): void {
    const address = addressOf(socket);
    const line = this.#lines.get(address) ?? new Set();
    this.#lines.set(address, line.add(socket));
    this.#waiting++;
    socket.once("close", () => this.#leave(address, socket));
    if (this.#waiting > this.#options.maxWaiting) this.#dropOne();
    this.#startSoon();
  }

  closeWaiting(): void {
    for (const line of [...this.#lines.values()]) for (const socket of [...line]) socket.destroy();
  }

  /** In a turn of its own: this one is spent on those that have just started. */
  #startSoon(): void {
    if (this.#isDue || this.#waiting === 0 || this.#starting >= this.#options.maxStarting) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#startSome();
      this.#startSoon();
    });
  }

  #startSome(): void {
    const { startsPerTurn, maxStarting } = this.#options;
    for (let left = Math.min(startsPerTurn, maxStarting - this.#starting); left > 0; left--) {
      const [[address, line] = []] = this.#lines;
      const [socket] = line ?? [];
      if (address === undefined || line === undefined || socket === undefined) return;
      this.#leave(address, socket);
      // Behind the other addresses.
      if (this.#lines.delete(address)) this.#lines.set(address, line);
      this.#start(socket);
    }
  }

  #start(socket: Socket): void {
    const { startingMs, onConnection } = this.#options;
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#starting--;
      this.#startSoon();
    };
    const timer = setTimeout(over, startingMs);
    this.#starting++;
    socket.once("close", over);
    onConnection(socket, over);
  }

  #dropOne(): void {
    let [longest, most] = ["", 0];
    for (const [address, { size }] of this.#lines) if (size > most) [longest, most] = [address, size];
    const [oldest] = this.#lines.get(longest) ?? [];
    if (oldest === undefined) return;
    this.#options.onDropped(longest, "overload");
    oldest.destroy();
    this.#leave(longest, oldest);
  }

  /** Safe to call twice. */
  #leave(address: string, socket: Socket): void {
    const line = this.#lines.get(address);
    if (line?.delete(socket) !== true) return;
    this.#waiting--;
    if (line.size === 0) this.#lines.delete(address);
  }
}

function ignore(): void {
  // The close of the connection follows.
}

/**
 * Accepts TLS connections so that honest handshakes come first. A connection counts for nothing until its ClientHello is there; those
 * with one start a few in each turn of the event loop, the addresses in turns. When thousands of proxies come back at once, probes and
 * open streams have their share of every turn.
 */
import type { Server, Socket } from "node:net";
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

/** Limits of connections without a ClientHello: in all, and per address. */
const maxSilent = 16_384;
const maxSilentPerAddress = 4_096;
/** A handshake costs about 1 ms of CPU, and about 50 kB until it ends: 3,200 stalled ones hold 160 MB. */
export const defaultHandshakeLimits: HandshakeLimits = {
  startsPerTurn: 4,
  maxStarting: 32,
  startingMs: 100,
  helloMs: 10_000,
  maxSilent,
  maxSilentPerAddress,
  maxWaiting: 20_000,
};

/** Bounds and callback of `paceHandshakes`. */
export interface PaceOptions extends HandshakeLimits {
  readonly onDropped: (address: string, reason: DropReason) => void;
}

/** `finished` is called when the handshake has succeeded. */
type Start = (socket: Socket, finished: () => void) => void;

/**
 * Paces the handshakes of a TLS server that was made with `pauseOnConnect`; addresses take turns, so that one of them cannot hold up the others.
 * The result closes connections that have not started.
 */
export function paceHandshakes(server: Server, options: PaceOptions): () => void {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  /** A TLS server does not report which socket a connection came from, so the addresses of both ends identify it. */
  const handshakes = new Map<string, () => void>();
  const starts = new Starts(options, (socket, finished) => {
    const peer = peerOf(socket);
    handshakes.set(peer, finished);
    socket.once("close", () => handshakes.delete(peer));
    for (const listener of listeners) listener.call(server, socket);
  });
  const silent = new HelloWait({ ...options, onHello: (socket) => starts.add(socket) });
  server.on("connection", (socket: Socket) => {
    // A caller that gives up before its turn is no failure of ours.
    socket.on("error", ignore);
    silent.add(socket);
  });
  // Before listeners that may destroy the socket, which has no address then.
  server.prependListener("secureConnection", (socket: Socket) => handshakes.get(peerOf(socket))?.());
  return () => {
    silent[Symbol.dispose]();
    starts.closeWaiting();
  };
}

/** The remote address and port: unlike a socket, the same before and after TLS. */
export function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Connections whose hello is there. */
class Starts {
  readonly #options: PaceOptions;
  readonly #begin: Start;
  /** Those that wait by address, in the order of the addresses' turns. */
  readonly #lines = new Map<string, Set<Socket>>();
  #waiting = 0;
  #starting = 0;
  #isDue = false;

  constructor(options: PaceOptions, begin: Start) {
    this.#options = options;
    this.#begin = begin;
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
    const { startingMs } = this.#options;
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
    this.#begin(socket, over);
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

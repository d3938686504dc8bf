/**
 * Connections that have not sent their ClientHello yet. They cost a socket each and no work waits for them; their time and their number
 * are bounded, by address and in all. The oldest is closed for the newest: an honest client sends its hello right after connecting.
 */
import type { Socket } from "node:net";

/** Bounds of connections without a ClientHello, in milliseconds and in connections. */
export interface HelloLimits {
  /** From accept until the whole ClientHello is there. */
  readonly helloMs: number;
  readonly maxSilent: number;
  readonly maxSilentPerAddress: number;
}

/** Why a connection was closed: it sent nothing in time, too many others wait, or its first bytes are no TLS. */
export type SilentEnd = "silent" | "crowded" | "not_tls";

interface HelloWaitOptions extends HelloLimits {
  /** The hello is still to be read from the socket. */
  readonly onHello: (socket: Socket) => void;
  readonly onDropped: (address: string, reason: SilentEnd) => void;
}

interface Silent {
  bytes: Buffer;
  /** Takes it out of the wait. */
  readonly leave: () => void;
}

/** Holds connections until their ClientHello is there; disposing of it closes those that still wait. */
export class HelloWait implements Disposable {
  readonly #options: HelloWaitOptions;
  /** The oldest first, as in the sets by address. */
  readonly #silent = new Map<Socket, Silent>();
  readonly #byAddress = new Map<string, Set<Socket>>();

  constructor(options: HelloWaitOptions) {
    this.#options = options;
  }

  /** The socket has a listener for its errors. */
  add(socket: Socket): void {
    const { maxSilent, maxSilentPerAddress, helloMs } = this.#options;
    const address = addressOf(socket);
    const neighbours = this.#byAddress.get(address) ?? new Set<Socket>();
    if (neighbours.size >= maxSilentPerAddress) this.#drop(firstOf(neighbours), "crowded");
    else if (this.#silent.size >= maxSilent) this.#drop(firstOf(this.#silent.keys()), "crowded");
    this.#byAddress.set(address, neighbours.add(socket));
    const timer = setTimeout(() => this.#drop(socket, "silent"), helloMs);
    const onReadable = (): void => this.#read(socket);
    const leave = (): void => {
      clearTimeout(timer);
      socket.off("readable", onReadable).off("close", leave);
      this.#silent.delete(socket);
      neighbours.delete(socket);
      if (neighbours.size === 0 && this.#byAddress.get(address) === neighbours) this.#byAddress.delete(address);
    };
    this.#silent.set(socket, { bytes: Buffer.alloc(0), leave });
    socket.on("close", leave).on("readable", onReadable);
  }

  /** Closes them all. */
  [Symbol.dispose](): void {
    for (const socket of [...this.#silent.keys()]) socket.destroy();
  }

  #read(socket: Socket): void {
    const chunk = socket.read() as Buffer | null;
    const silent = this.#silent.get(socket);
    if (chunk === null || silent === undefined) return;
    silent.bytes = silent.bytes.length === 0 ? chunk : Buffer.concat([silent.bytes, chunk]);
    const state = readHello(silent.bytes);
    if (state === "other") this.#drop(socket, "not_tls");
    if (state !== "whole") return;
    silent.leave();
    socket.unshift(silent.bytes);
    this.#options.onHello(socket);
  }

  #drop(socket: Socket | undefined, reason: SilentEnd): void {
    if (socket === undefined) return;
    this.#options.onDropped(addressOf(socket), reason);
    this.#silent.get(socket)?.leave();
    socket.destroy();
  }
}

/** The remote address without its port; "" once the socket is destroyed. */
export function addressOf({ remoteAddress = "" }: Socket): string {
  return remoteAddress;
}

function firstOf(sockets: Iterable<Socket>): Socket | undefined {
  for (const socket of sockets) return socket;
  return undefined;
}

const headBytes = 6;
const handshakeRecord = 22;
const clientHello = 1;
/** Of a record. */
const maxBytes = 16_384;

/**
 * Recognizes a TLS ClientHello in the first bytes of a connection, and its end (RFC 8446, 5.1 and 4.1.2). `more`: it may become one. A
 * ClientHello in several records counts as whole with the first of them.
 */
export function readHello(bytes: Buffer): "more" | "whole" | "other" {
  const [type, major, , high, low, message] = bytes;
  if (type !== undefined && type !== handshakeRecord) return "other";
  if (major !== undefined && major !== 3) return "other";
  if (high === undefined || low === undefined) return "more";
  const length = high * 256 + low;
  if (length < headBytes || length > maxBytes) return "other";
  if (message !== undefined && message !== clientHello) return "other";
  return bytes.length >= headBytes - 1 + length ? "whole" : "more";
}

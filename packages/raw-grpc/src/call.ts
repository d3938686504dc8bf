/** One call: messages as bytes in both directions, and a status at the end. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { FrameReader } from "./frame.ts";
import type { ConnectionUse } from "./idle-connections.ts";
import type { PartialMessages } from "./partial-messages.ts";
import { type CallStatus, encodeStatusMessage, type GrpcError } from "./status.ts";

/** Receives what the client of a call sends. */
export interface CallListener {
  onMessage(bytes: Buffer): void;
  /** The client has sent its last message. */
  onEnd(): void;
  /** The client is gone, or has given the call up; called once, and not after `end`. */
  onCancelled(): void;
  /** The bytes received cannot be read; nothing more is read. */
  onUnreadable(error: GrpcError): void;
}

/** Properties that the calls of a connection share. */
export interface Peer {
  /** `address:port`, an IPv6 address in brackets. */
  readonly address: string;
  /** The address without the port and without brackets. */
  readonly host: string;
  /** DER; undefined when the client showed none. */
  readonly certificate: Buffer | undefined;
  readonly session: ServerHttp2Session;
  readonly use: ConnectionUse;
  readonly partial: PartialMessages;
}

/** Called once: the bytes have left, or cannot any more. Never before the call of `write` returns. */
export type Left = (error?: Error) => void;

const responseHeaders = {
  ":status": 200,
  "content-type": "application/grpc+proto",
  "grpc-encoding": "identity",
  "grpc-accept-encoding": "identity,deflate,gzip",
} as const;

/** One call of a client: messages out, and a status at its end. */
export class RawCall {
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #peer: Peer;
  readonly #maxMessageBytes: number;
  /** Messages that wait when the call ends get no callback. */
  readonly #waiting = new Set<Left>();
  #listener: CallListener | undefined;
  #isEnded = false;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, peer: Peer, maxMessageBytes: number) {
    this.#stream = stream;
    this.#headers = headers;
    this.#peer = peer;
    this.#maxMessageBytes = maxMessageBytes;
    // A broken stream closes by itself; without a listener it would end the process.
    stream.on("error", () => undefined);
    stream.once("close", () => this.#onClose());
  }

  get peer(): string {
    return this.#peer.address;
  }

  /** The peer's address without the port. */
  get host(): string {
    return this.#peer.host;
  }

  get peerCertificate(): Buffer | undefined {
    return this.#peer.certificate;
  }

  /** Cancelled, or ended. */
  get isClosed(): boolean {
    return this.#isEnded || this.#stream.destroyed || this.#stream.closed;
  }

  /** Names in lower case. */
  get metadata(): ReadonlyMap<string, readonly string[]> {
    const entries = Object.entries(this.#headers).filter(([name]) => !name.startsWith(":"));
    return new Map(entries.map(([name, value]) => [name, [value ?? []].flat()]));
  }

  /** Until then nothing is read: the client waits. */
  listen(listener: CallListener): void {
    this.#listener = listener;
    const encoding = this.#headers["grpc-encoding"];
    const reader = new FrameReader({ maxBytes: this.#maxMessageBytes, encoding: encoding?.toString() });
    const { use, partial, host } = this.#peer;
    const onMessage = (message: Buffer): void => {
      use.keep(this.#stream);
      if (!this.#isEnded) listener.onMessage(message);
    };
    const refuse = (error: GrpcError): void => {
      this.#stream.pause();
      if (!this.#isEnded) listener.onUnreadable(error);
    };
    const holder = { refuse };
    let heldBytes = 0;
    const hold = (bytes: number): void => {
      if (bytes === heldBytes) return;
      heldBytes = bytes;
      partial.hold(holder, host, bytes);
    };
    use.awaitRequest(this.#stream);
    this.#stream.on("data", (chunk: Buffer) => {
      if (this.#isEnded) return;
      try {
        reader.read(chunk, onMessage);
        hold(reader.pendingBytes);
      } catch (error) {
        refuse(error as GrpcError);
      }
    });
    this.#stream.once("close", () => hold(0));
    this.#stream.once("end", () => {
      if (!this.isClosed) listener.onEnd();
    });
  }

  /** `frame`: as `frameOf` gives it. */
  write(frame: Buffer, left: Left): void {
    if (this.isClosed) {
      process.nextTick(left, new Error("the call is over"));
      return;
    }
    this.#respond();
    this.#waiting.add(left);
    this.#stream.write(frame, (error) => {
      if (this.#waiting.delete(left)) left(error ?? undefined);
    });
  }

  /** After what was written before. Safe to call twice. */
  end({ code, details }: CallStatus): void {
    if (this.isClosed) return;
    this.#isEnded = true;
    const trailers = { "grpc-status": String(code), "grpc-message": encodeStatusMessage(details) };
    const stream = this.#stream;
    // A client that goes on speaking is not listened to.
    const close = (): void => void setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
    if (!stream.headersSent) {
      stream.respond({ ...responseHeaders, ...trailers }, { endStream: true });
      close();
      return;
    }
    stream.once("wantTrailers", () => {
      stream.sendTrailers(trailers);
      close();
    });
    stream.end();
  }

  /** Ends the connection with all its calls: for a client that does not read, and so would not read an end either. */
  cutConnection(): void {
    this.#peer.session.destroy();
  }

  /** No further calls on this connection; it ends with the last one. */
  retireConnection(): void {
    if (!this.#peer.session.closed) this.#peer.session.close();
  }

  #respond(): void {
    if (!this.#stream.headersSent) this.#stream.respond(responseHeaders, { waitForTrailers: true });
  }

  #onClose(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const left of waiting) left(new Error("the client cancelled the call"));
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#listener?.onCancelled();
  }
}

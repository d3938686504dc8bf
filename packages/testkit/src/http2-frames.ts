/** Frames of HTTP/2 and the headers in them, as they stand on the wire (RFC 9113, RFC 7541). */
import { constants } from "node:http2";

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
export const type = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
};
export const endHeaders = 4;

/** The first bytes of a connection, with a call that sends no request. */
export function beginCall(path: string): Buffer {
  return Buffer.concat([preface, frame(type.settings, 0, 0), request(1, path)]);
}

/** Begins a call on the stream. */
export function request(id: number, path: string): Buffer {
  return frame(type.headers, endHeaders, id, requestBlock(path));
}

/** Answered by a reset of the stream: HTTP/2 has no header of this name. */
export function malformed(id: number, path: string): Buffer {
  return frame(type.headers, endHeaders, id, Buffer.concat([requestBlock(path), literal("connection", "close")]));
}

/** CANCEL. */
export function reset(id: number): Buffer {
  return frame(type.reset, 0, id, Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL));
}

/** A frame of HTTP/2. */
export function frame(kind: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(kind, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Headers of a call by gRPC: indexed fields of the static table where it has them. */
export function requestBlock(path: string): Buffer {
  const method = Buffer.of(0x83, 0x86);
  const named = Buffer.concat([Buffer.of(0x04), text(path), Buffer.of(0x01), text("localhost")]);
  return Buffer.concat([method, named, literal("content-type", "application/grpc"), literal("te", "trailers")]);
}

/** Not added to the dynamic table. */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}

/** Without Huffman's code; the length is an integer with a prefix of seven bits. */
export function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const rest = [];
  let left = bytes.length - 127;
  for (; left >= 128; left >>= 7) rest.push((left & 127) | 128);
  return Buffer.concat([Buffer.of(127, ...rest, left), bytes]);
}

/** Takes a stream of bytes apart, whatever pieces it comes in. */
export function frameReader(onFrame: (kind: number, payload: Buffer) => void): (chunk: Buffer) => void {
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

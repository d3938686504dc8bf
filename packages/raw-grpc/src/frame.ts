/**
 * Messages of gRPC on the wire: a flag, the length, the bytes
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
 */
import { gunzipSync, inflateSync } from "node:zlib";
import { GrpcError, grpcStatus } from "./status.ts";

export const frameHeadBytes = 5;

/** The message in one piece with its head: what streams can share. */
export function frameOf(...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, { length }) => sum + length, 0);
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, ...parts], frameHeadBytes + length);
}

/** The message of a frame, without a copy. */
export function messageOf(frame: Buffer): Buffer {
  return frame.subarray(frameHeadBytes);
}

export interface FrameReaderOptions {
  readonly maxBytes: number;
  /** The header `grpc-encoding`. */
  readonly encoding: string | undefined;
}

/** Cuts what arrives into messages. One that is announced as too large is refused before its bytes are taken in. */
export class FrameReader {
  readonly #options: FrameReaderOptions;
  #rest: Buffer | undefined;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  /** @throws GrpcError RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL */
  *read(chunk: Buffer): Generator<Buffer, void, undefined> {
    let bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    while (bytes.length >= frameHeadBytes) {
      const length = bytes.readUInt32BE(1);
      if (length > this.#options.maxBytes) throw tooLarge(length, this.#options.maxBytes);
      const end = frameHeadBytes + length;
      if (bytes.length < end) break;
      const message = bytes.subarray(frameHeadBytes, end);
      yield bytes[0] === 0 ? message : this.#inflated(message);
      bytes = bytes.subarray(end);
    }
    if (bytes.length > 0) this.#rest = bytes;
  }

  #inflated(message: Buffer): Buffer {
    const { encoding, maxBytes } = this.#options;
    const inflate = encoding === "gzip" ? gunzipSync : encoding === "deflate" ? inflateSync : undefined;
    if (inflate === undefined)
      throw new GrpcError(grpcStatus.unimplemented, `messages cannot be compressed by "${encoding ?? "identity"}"`);
    try {
      return inflate(message, { maxOutputLength: maxBytes });
    } catch (error) {
      const isTooLarge = error instanceof RangeError;
      throw isTooLarge ? tooLarge(undefined, maxBytes) : new GrpcError(grpcStatus.internal, "cannot be decompressed");
    }
  }
}

function tooLarge(bytes: number | undefined, limit: number): GrpcError {
  const size = bytes === undefined ? "more" : `${bytes}`;
  return new GrpcError(
    grpcStatus.resourceExhausted,
    `a request of ${size} bytes is over the limit of ${limit}`,
    "size",
  );
}

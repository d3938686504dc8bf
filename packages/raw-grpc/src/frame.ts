/**
 * Messages of gRPC on the wire: a flag, the length, the bytes
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
 */
import { gunzipSync, inflateSync } from "node:zlib";
import { GrpcError, grpcStatus } from "./status.ts";

/** Bytes before each message: a flag and the length. */
export const frameHeadBytes = 5;

/** So much a compressed message may inflate to, and so many times its own length beyond that: requests of proxies shrink to a tenth or a twentieth. */
const freeInflatedBytes = 65_536;
const maxInflation = 32;

/** The message in one piece with its head, so that streams can share it. */
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

/** The largest message in bytes, and the compression that the client announced. */
export interface FrameReaderOptions {
  readonly maxBytes: number;
  /** The header `grpc-encoding`. */
  readonly encoding: string | undefined;
}

/** Cuts what arrives into messages. One that is announced as too large is refused before its bytes are taken in. */
export class FrameReader {
  readonly #options: FrameReaderOptions;
  /** The received part of an incomplete message, in the pieces in which it came. */
  #pieces: Buffer[] = [];
  #length = 0;
  /** With fewer bytes there is nothing to be read. */
  #needed = frameHeadBytes;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  /** Bytes buffered for an incomplete message. */
  get pendingBytes(): number {
    return this.#length;
  }

  /** @throws GrpcError RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL: nothing more can be read */
  read(chunk: Buffer, onMessage: (message: Buffer) => void): void {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return;
    let bytes = this.#joined();
    while (bytes.length >= this.#needed) {
      if (this.#needed === frameHeadBytes) {
        this.#needed += this.#announced(bytes);
        if (bytes.length < this.#needed) break;
      }
      const message = bytes.subarray(frameHeadBytes, this.#needed);
      onMessage(bytes[0] === 0 ? message : this.#inflated(message));
      bytes = bytes.subarray(this.#needed);
      this.#needed = frameHeadBytes;
    }
    this.#pieces = bytes.length === 0 ? [] : [bytes];
    this.#length = bytes.length;
  }

  /** Once for each message, however many pieces it came in: a copy for each piece would cost their square. */
  #joined(): Buffer {
    const [first, ...others] = this.#pieces;
    return first !== undefined && others.length === 0 ? first : Buffer.concat(this.#pieces, this.#length);
  }

  /** The length of the message in bytes, from its head. */
  #announced(head: Buffer): number {
    const length = head.readUInt32BE(1);
    if (length > this.#options.maxBytes) throw tooLarge(length, this.#options.maxBytes);
    return length;
  }

  #inflated(message: Buffer): Buffer {
    const { encoding, maxBytes } = this.#options;
    const inflate = encoding === "gzip" ? gunzipSync : encoding === "deflate" ? inflateSync : undefined;
    if (inflate === undefined)
      throw new GrpcError(grpcStatus.unimplemented, `messages cannot be compressed by "${encoding ?? "identity"}"`);
    const limit = Math.min(maxBytes, freeInflatedBytes + maxInflation * message.length);
    try {
      return inflate(message, { maxOutputLength: limit });
    } catch (error) {
      const isTooLarge = error instanceof RangeError;
      throw isTooLarge ? tooLarge(undefined, limit) : new GrpcError(grpcStatus.internal, "cannot be decompressed");
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

/**
 * Limits the memory of incomplete messages. A client may send all but the last byte of the largest message on each of its calls and stop:
 * without a limit it can occupy the number of calls times the largest message (decision 0381).
 */
import { GrpcError, grpcStatus } from "./status.ts";

/** Limits in bytes of all incomplete messages. */
export interface PartialBounds {
  readonly perAddress: number;
  readonly inAll: number;
}

const maxPartialBytesOfAddress = 64 * 1024 * 1024;
const maxPartialBytes = 256 * 1024 * 1024;
/** Limits of a server that sets none. */
export const defaultPartialBounds: PartialBounds = { perAddress: maxPartialBytesOfAddress, inAll: maxPartialBytes };

/** The holder of a partial message. */
export interface PartialReader {
  /** Ends the call; nothing more is read of it. */
  refuse(error: GrpcError): void;
}

interface OfAddress {
  bytes: number;
  /** The oldest first. */
  readonly readers: Map<PartialReader, number>;
}

/** The partial messages of one server by the addresses of their senders. */
export class PartialMessages {
  readonly #bounds: PartialBounds;
  readonly #byAddress = new Map<string, OfAddress>();
  #bytes = 0;

  constructor(bounds: PartialBounds) {
    this.#bounds = bounds;
  }

  /** Records that the reader holds `bytes` now. Above its address's limit it is refused; above the total, the newest reader of the address that holds the most. */
  hold(reader: PartialReader, address: string, bytes: number): void {
    const { perAddress, inAll } = this.#bounds;
    const held = this.#set(reader, address, bytes);
    if (held > perAddress) this.#refuse(reader, address);
    while (this.#bytes > inAll) {
      const [crowded, newest] = this.#newestOfLargest();
      if (newest === undefined) return;
      this.#refuse(newest, crowded);
    }
  }

  /** Returns the bytes that the address holds. */
  #set(reader: PartialReader, address: string, bytes: number): number {
    const known = this.#byAddress.get(address) ?? { bytes: 0, readers: new Map() };
    const change = bytes - (known.readers.get(reader) ?? 0);
    known.bytes += change;
    this.#bytes += change;
    if (bytes > 0) known.readers.set(reader, bytes);
    else known.readers.delete(reader);
    if (known.readers.size > 0) this.#byAddress.set(address, known);
    else this.#byAddress.delete(address);
    return known.bytes;
  }

  #newestOfLargest(): readonly [address: string, reader: PartialReader | undefined] {
    let [crowded, most]: [string, OfAddress | undefined] = ["", undefined];
    for (const [address, one] of this.#byAddress) if (one.bytes > (most?.bytes ?? 0)) [crowded, most] = [address, one];
    return [crowded, [...(most?.readers.keys() ?? [])].at(-1)];
  }

  #refuse(reader: PartialReader, address: string): void {
    this.#set(reader, address, 0);
    reader.refuse(new GrpcError(grpcStatus.resourceExhausted, "too many bytes of unfinished messages", "size"));
  }
}

/** Failures of the bus, and of what rests there, as a store tells them. */
import { StoreError } from "@flotilla/model";

/** A bus that fails gives no answer. @throws StoreError STORE_AWAY; `before`: what failed already, and may have been done nevertheless */
export async function away<T>(ask: () => Promise<T>, before?: unknown): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    const doubt = before === undefined ? "" : "; whether it is stored is not known";
    throw new StoreError("STORE_AWAY", undefined, `the bus does not answer: ${reasonOf(cause)}${doubt}`, { cause });
  }
}

/** @throws StoreError STORE_INVALID when `encode` throws a RangeError, STORE_TOO_LARGE */
export function bounded(maxBytes: number, encode: () => Uint8Array): Uint8Array {
  const bytes = encodeOrRefuse(encode);
  if (bytes.length <= maxBytes) return bytes;
  const reason = `what is written at once has ${bytes.length} bytes packed, the bus takes ${maxBytes}`;
  throw new StoreError("STORE_TOO_LARGE", undefined, reason);
}

export function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function encodeOrRefuse(encode: () => Uint8Array): Uint8Array {
  try {
    return encode();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new StoreError("STORE_INVALID", undefined, cause.message, { cause });
  }
}

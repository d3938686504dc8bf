/** Serial numbers: 16 random bytes each, fetched from the system for many at once. */
import { randomFillSync } from "node:crypto";

const size = 16;
const batch = 256;

export function serialSource(): () => Uint8Array {
  const pool = Buffer.alloc(size * batch);
  let at = pool.length;
  return () => {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    at += size;
    // A copy: the pool is filled again while serials of it are still in use.
    return Uint8Array.prototype.slice.call(pool, at - size, at);
  };
}

/** Inputs made of kept ones: bytes changed, cut, doubled, joined with another input's, words of the format put in. The seed decides all. */

/** A whole number from 0 up to, not including, the bound. */
export type Random = (below: number) => number;

/** mulberry32: small, and the same everywhere. */
export function randomOf(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Longer ones are cut: time for one input is bounded, and bounds on size have tests of their own. */
const usualMaxBytes = 16 * 1024;
const edges = [0, 1, 0x7f, 0x80, 0xff, 0x22, 0x5c, 0x7b, 0x30];

export interface Material {
  readonly corpus: readonly Buffer[];
  /** Words of the format. */
  readonly words: readonly string[];
  /** Where a byte costs more than elsewhere. */
  readonly maxBytes?: number;
}

/** One to eight changes of one of the corpus. */
export function mutate({ corpus, words, maxBytes = usualMaxBytes }: Material, random: Random): Buffer {
  let bytes = pick(corpus, random) ?? Buffer.alloc(0);
  for (let times = 1 + random(8); times > 0; times--) bytes = changed(bytes, corpus, words, random);
  return bytes.subarray(0, maxBytes);
}

function changed(bytes: Buffer, corpus: readonly Buffer[], words: readonly string[], random: Random): Buffer {
  const at = random(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + random(1 + random(64)));
  switch (random(8)) {
    case 0:
      return joined(bytes, at, Buffer.of(random(256)), to);
    case 1:
      return joined(bytes, at, Buffer.of(edges[random(edges.length)] ?? 0), at + 1);
    case 2:
      return joined(bytes, at, Buffer.alloc(0), to);
    case 3:
      return joined(bytes, at, bytes.subarray(at, to), at);
    case 4:
      return joined(bytes, at, Buffer.from(pick(words, random) ?? ""), random(2) === 0 ? at : to);
    case 5: {
      const other = pick(corpus, random) ?? bytes;
      const from = random(other.length + 1);
      return joined(bytes, at, other.subarray(from, from + random(256)), to);
    }
    case 6:
      return joined(bytes, at, flipped(bytes.subarray(at, at + 1), random), at + 1);
    default:
      return repeated(bytes, at, to, 1 + random(1 << random(10)));
  }
}

function repeated(bytes: Buffer, at: number, to: number, times: number): Buffer {
  const part = bytes.subarray(at, to);
  const count = Math.min(times, Math.ceil(usualMaxBytes / Math.max(1, part.length)));
  return joined(bytes, at, Buffer.concat(Array.from({ length: count }, () => part)), to);
}

function flipped(bytes: Buffer, random: Random): Buffer {
  return Buffer.from(bytes.map((byte) => byte ^ (1 << random(8))));
}

function joined(bytes: Buffer, head: number, middle: Uint8Array, tail: number): Buffer {
  return Buffer.concat([bytes.subarray(0, head), middle, bytes.subarray(tail)]);
}

function pick<T>(from: readonly T[], random: Random): T | undefined {
  return from[random(Math.max(1, from.length))];
}

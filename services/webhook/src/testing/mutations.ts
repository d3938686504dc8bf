/** AdmissionReviews with wrong values, names and bytes. */

/** mulberry32: small, and the same everywhere. */
export function randomOf(start: number): (below: number) => number {
  let state = start;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const odd: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e300, "", "x", "-", "0", "\0", "\ud800", "a".repeat(5_000), "*".repeat(300)],
  ...[[], {}, [null], [[]], { toString: 1 }, JSON.parse('{"__proto__":{"a":1}}'), "{", "{}", "[]", "null", "a: b: c"],
];
const oddNames = ["__proto__", "toString", "constructor", "", "x", "name", "metadata"];

/** A copy in which one value, somewhere, is another one, is gone, or has another name. */
function mutated(value: unknown, random: (below: number) => number): unknown {
  const places = placesOf(value);
  const path = places[random(places.length)] ?? [];
  const copy = structuredClone(value) as unknown;
  const parent = path.slice(0, -1).reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], copy);
  const last = path.at(-1);
  if (last === undefined) return odd[random(odd.length)];
  const holder = parent as Record<string, unknown>;
  const kind = random(8);
  if (kind === 0 && !Array.isArray(parent)) delete holder[last];
  else if (kind === 1 && !Array.isArray(parent)) {
    Object.defineProperty(holder, oddNames[random(oddNames.length)] ?? "", {
      ...{ value: holder[last], enumerable: true, configurable: true, writable: true },
    });
    delete holder[last];
  } else if (kind === 2 && Array.isArray(parent)) parent.push(structuredClone(holder[last]));
  else holder[last] = odd[random(odd.length)];
  return copy;
}

function placesOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    path,
    ...Object.keys(value).flatMap((key) => placesOf((value as Record<string, unknown>)[key], [...path, key])),
  ];
}

/** The sample with up to four such places, sometimes with broken bytes. */
export function bodyOf(sample: object, random: (below: number) => number): Buffer {
  let value: unknown = sample;
  for (let times = 1 + random(4); times > 0; times--) value = mutated(value, random);
  const body = Buffer.from(JSON.stringify(value) ?? "");
  if (random(10) > 0) return body;
  const bytes = Buffer.from(body);
  for (let times = 1 + random(4); times > 0 && bytes.length > 0; times--) bytes[random(bytes.length)] = random(256);
  return bytes;
}

/**
 * A sample that the same seed draws again: files by chance, of each a mutant, and again until there are enough. In the order of
 * the draw, so that a run that is stopped has measured a fair sample too.
 */

export function drawSample<T extends { readonly file: string }>(
  all: readonly T[],
  size: number,
  seed: number,
): readonly T[] {
  if (size >= all.length) return all;
  const random = randomNumbers(seed);
  const byFile = new Map<string, T[]>();
  for (const one of all) byFile.set(one.file, [...(byFile.get(one.file) ?? []), one]);
  const shuffled = shuffle([...byFile.values()], random).map((ofFile) => shuffle(ofFile, random));
  const drawn = new Set<T>();
  for (let round = 0; drawn.size < size; round++)
    for (const ofFile of shuffled) {
      const one = ofFile[round];
      if (one !== undefined && drawn.size < size) drawn.add(one);
    }
  return [...drawn];
}

function shuffle<T>(list: readonly T[], random: () => number): readonly T[] {
  return list
    .map((value) => ({ value, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ value }) => value);
}

/** mulberry32: numbers in [0, 1). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

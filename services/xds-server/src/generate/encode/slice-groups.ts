/**
 * Slices of a long list, some to a group, so that a change of one costs its group and the number of groups: a set of 10,000 workloads has
 * 250 slices, which would all be looked at for each pod. Groups serve as arguments of computations, by identity: lists that follow each other
 * have those in common that stayed as they were. How a list is grouped changes no result.
 */
import type { SliceText } from "../../snapshot/row-index.ts";

export type SliceGroup = readonly SliceText[];

/** About the square root of the slices of a large list. */
const slicesPerGroup = 16;

export class SliceGroups {
  #last: readonly SliceGroup[] = [];
  /** The last groups, by their first slice. */
  #byFirst = new Map<SliceText, SliceGroup>();

  of(slices: readonly SliceText[]): readonly SliceGroup[] {
    const groups = this.#grouped(slices);
    // Each slice that is cut in two leaves a short group behind.
    const isScattered = groups.length > 4 + 2 * Math.ceil(slices.length / slicesPerGroup);
    const kept = isScattered ? cut(slices) : groups;
    if (kept.length !== this.#last.length || kept.some((group, index) => group !== this.#last[index])) {
      this.#last = kept;
      this.#byFirst = new Map(kept.flatMap((group) => (group[0] === undefined ? [] : [[group[0], group] as const])));
    }
    return this.#last;
  }

  #grouped(slices: readonly SliceText[]): readonly SliceGroup[] {
    const groups: SliceGroup[] = [];
    let loose: SliceText[] = [];
    for (let at = 0; at < slices.length; ) {
      const slice = slices[at] as SliceText;
      const known = this.#byFirst.get(slice);
      const start = at;
      if (known?.every((one, index) => slices[start + index] === one) === true) {
        groups.push(...cut(loose), known);
        loose = [];
        at += known.length;
      } else {
        loose.push(slice);
        at++;
      }
    }
    groups.push(...cut(loose));
    return groups;
  }
}

function cut(slices: readonly SliceText[]): readonly SliceGroup[] {
  const count = Math.ceil(slices.length / slicesPerGroup);
  return Array.from({ length: count }, (_, index) =>
    slices.slice(index * slicesPerGroup, (index + 1) * slicesPerGroup),
  );
}

/**
 * Counts streams by the version that their clients state. The text comes from outside: what is no version, or one too many, counts as
 * `other`, and a label goes with its last stream.
 */

const versionForm = /^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$/;
const maxVersions = 100;

export class VersionLabels {
  readonly #counts = new Map<string, number>();
  /** Streams that were counted as `other` for want of room, by what they stated: they leave the same label. */
  readonly #others = new Map<string, number>();

  /** The label of the version, and how many streams it has after the change. */
  count(stated: string, change: 1 | -1): { readonly version: string; readonly count: number } {
    const version = this.#labelOf(stated, change);
    return { version, count: add(this.#counts, version, change) };
  }

  #labelOf(stated: string, change: 1 | -1): string {
    if (!versionForm.test(stated)) return "other";
    const isOther =
      change === 1 ? !this.#counts.has(stated) && this.#counts.size >= maxVersions : this.#others.has(stated);
    if (!isOther) return stated;
    add(this.#others, stated, change);
    return "other";
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): number {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
  return count;
}

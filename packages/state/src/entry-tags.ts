/**
 * The tags of all entries of a snapshot, and one digest of them that a change carries forward. Tags lie in buckets by their keys, so that a change
 * costs the entries of its buckets. A plain sum of tags would not do: of more than 128 entries some always cancel each other out, which an
 * intruder who may remove entries could take away unnoticed.
 */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { TimeSlice } from "@flotilla/runtime";

interface Bucket {
  readonly tags: ReadonlyMap<string, string>;
  readonly digest: string;
}

const bucketCount = 256;
const noTags = bucketOf(new Map());

/** Immutable. */
export class EntryTags {
  static readonly empty = new EntryTags(Array.from({ length: bucketCount }, () => noTags));
  readonly #buckets: readonly Bucket[];

  private constructor(buckets: readonly Bucket[]) {
    this.#buckets = buckets;
  }

  get size(): number {
    return this.#buckets.reduce((sum, { tags }) => sum + tags.size, 0);
  }

  /** With these tags in place of the former ones; undefined removes one. Gives way to others meanwhile. */
  async with(changes: Iterable<readonly [string, string | undefined]>): Promise<EntryTags> {
    const timeSlice = new TimeSlice();
    const touched = new Map<number, Map<string, string>>();
    for (const [key, tag] of changes) {
      const place = placeOf(key);
      const tags = touched.get(place) ?? new Map(this.#buckets[place]?.tags);
      touched.set(place, tags);
      if (tag === undefined) tags.delete(key);
      else tags.set(key, tag);
      if (timeSlice.isDue) await timeSlice.yield();
    }
    const buckets = [...this.#buckets];
    for (const [place, tags] of touched) {
      buckets[place] = bucketOf(tags);
      if (timeSlice.isDue) await timeSlice.yield();
    }
    return new EntryTags(buckets);
  }

  /** Equal for equal tags of equal keys, and for nothing else. */
  get digest(): string {
    const digest = createHash("sha256");
    for (const bucket of this.#buckets) digest.update(bucket.digest);
    return digest.digest("hex");
  }
}

function bucketOf(tags: ReadonlyMap<string, string>): Bucket {
  const digest = createHash("sha256");
  for (const key of [...tags.keys()].sort()) digest.update(`${Buffer.byteLength(key)} ${key} ${tags.get(key)} `);
  return { tags, digest: digest.digest("hex") };
}

/** The bucket of a key protects nothing. */
function placeOf(key: string): number {
  return crc32(key) % bucketCount;
}

/**
 * Long lists of keys, cut into slices: results for a slice are kept as long as the slice stays as it is. Where a list is cut depends on
 * the keys themselves: one that comes or goes changes its own slice and leaves the others as they are.
 */
import { type Branded, compareText, fnv1a } from "@flotilla/model";

/** About the square root of the keys of a large list. */
const keysPerSlice = 48;
const maxKeysPerSlice = 8 * keysPerSlice;

/** Stands between the keys of a slice; none holds one. */
const separator = "\n";

declare const keyType: unique symbol;

/** The keys of a slice. */
export type SliceText<Key extends string = string> = Branded<"Slice"> & { readonly [keyType]?: Key };

/** In order; equal lists give equal slices. */
export function sliceTexts<Key extends string>(keys: readonly Key[]): readonly SliceText<Key>[] {
  const texts: SliceText<Key>[] = [];
  let start = 0;
  keys.forEach((key, index) => {
    const count = index + 1 - start;
    if (count < maxKeysPerSlice && index + 1 < keys.length && !endsSlice(key)) return;
    texts.push(keys.slice(start, index + 1).join(separator) as SliceText<Key>);
    start = index + 1;
  });
  return texts;
}

export function sliceKeys<Key extends string>(text: SliceText<Key>): readonly Key[] {
  return text.split(separator) as Key[];
}

/**
 * The slices of a sorted list with one key more (`isThere`) or less: those that stay are the identical texts. As `sliceTexts` of the
 * whole list.
 */
export function changedSlices<Key extends string>(
  slices: readonly SliceText<Key>[],
  key: Key,
  isThere: boolean,
): readonly SliceText<Key>[] {
  const found = slices.findIndex((slice) => lastKey(slice) >= key);
  const at = found === -1 ? slices.length - 1 : found;
  // A key that ends slices ends them whatever stands before it: what lies between two of these is cut by itself.
  const endsRun = (index: number) => {
    const slice = slices[index];
    const last = slice === undefined ? key : lastKey(slice);
    return endsSlice(last) && (isThere || last !== key);
  };
  let start = Math.max(at, 0);
  while (start > 0 && !endsRun(start - 1)) start--;
  let end = at;
  while (end < slices.length - 1 && !endsRun(end)) end++;
  const others = slices.slice(start, end + 1).flatMap((slice) => sliceKeys(slice).filter((one) => one !== key));
  const keys = isThere ? [...others, key].sort(compareText) : others;
  return [...slices.slice(0, start), ...sliceTexts(keys), ...slices.slice(end + 1)];
}

function lastKey<Key extends string>(text: SliceText<Key>): Key {
  return text.slice(text.lastIndexOf(separator) + 1) as Key;
}

function endsSlice(key: string): boolean {
  return fnv1a(key) % keysPerSlice === 0;
}

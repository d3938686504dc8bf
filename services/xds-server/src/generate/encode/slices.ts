/**
 * Cuts a long list of keys into short ones, so that what is made of the whole can be kept slice by slice. Where it is
 * cut depends on the keys themselves: one that comes or goes changes its own slice and leaves the others as they are.
 */
import type { Branded } from "@flotilla/model";

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
    if (count < maxKeysPerSlice && index + 1 < keys.length && hash(key) % keysPerSlice !== 0) return;
    texts.push(keys.slice(start, index + 1).join(separator) as SliceText<Key>);
    start = index + 1;
  });
  return texts;
}

export function sliceKeys<Key extends string>(text: SliceText<Key>): readonly Key[] {
  return text.split(separator) as Key[];
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

/**
 * All resources of one type for one view: what a stream compares with what its client has. Equal sets of different views are the
 * identical one, and so are the differences and messages that follow from them.
 *
 * A set is made of slices, and so are containers with many parts: a change of one costs its slice and a look at the others. Where a list
 * is cut depends on the keys themselves: one that comes or goes changes its own slice and leaves the others as they are.
 */
import { type Branded, fnv1a } from "@flotilla/model";
import { Interner, type NameSetKey, namesOfKey, type ResourceSet } from "@flotilla/xds";
import { query, type ViewQuery } from "../../snapshot/view.ts";
import { contentHash, type Encoded, type EncodedResource, Joined, sameVersion } from "./encoded.ts";
import type { Generator } from "./generator.ts";

export interface ResourceSetQueries {
  /** Every resource there is: for wildcard subscriptions. */
  readonly all: ViewQuery<undefined, ResourceSet>;
  /** The resources of the names asked for that exist. */
  readonly named: ViewQuery<NameSetKey, ResourceSet>;
}

interface Slice {
  readonly resources: readonly EncodedResource[];
  readonly version: string;
}

export function resourceSetQueries({ typeUrl, names, namesFor, resource }: Generator): ResourceSetQueries {
  const sets = new Interner<ResourceSet>();
  const slice = query<Slice, SliceText>(
    `${typeUrl} slice`,
    (view, text) => {
      const resources = sliceKeys(text).flatMap((name) => view.read(resource, name) ?? []);
      const lines = resources.map(({ name, version }) => `${name} ${version}\n`);
      return { resources, version: contentHash(lines.join("")) };
    },
    sameVersion,
  );
  const joined = (slices: readonly Slice[]): ResourceSet => {
    const version = contentHash(slices.map((one) => one.version).join(""));
    return sets.intern(version, () => {
      const byName = new Map<string, EncodedResource>();
      for (const { resources } of slices) for (const one of resources) byName.set(one.name, one);
      return { typeUrl, byName, version };
    });
  };
  const allTexts = query<readonly SliceText[]>(`${typeUrl} slices of all`, (view) =>
    names === undefined ? [] : sliceTexts(view.read(names)),
  );
  const namedTexts = query<readonly SliceText[], NameSetKey>(`${typeUrl} slices`, (view, key) =>
    sliceTexts(namesFor === undefined ? namesOfKey(key) : view.read(namesFor, key)),
  );
  return {
    all: query(
      `${typeUrl} set`,
      (view) => joined(view.read(allTexts).map((text) => view.read(slice, text))),
      sameVersion,
    ),
    named: query<ResourceSet, NameSetKey>(
      `${typeUrl} named`,
      (view, key) => joined(view.read(namedTexts, key).map((text) => view.read(slice, text))),
      sameVersion,
    ),
  };
}

/**
 * The parts of a container whose keys `list` gives, joined in slices: a change of one part costs its slice and a look
 * at the others, not a look at every part. Views whose lists are alike in a slice share it.
 */
export function slicedParts<Arg extends string, Key extends string>(
  name: string,
  list: ViewQuery<Arg, readonly Key[]>,
  part: ViewQuery<Key, Encoded>,
): ViewQuery<Arg, readonly Encoded[]> {
  const texts = query<readonly SliceText<Key>[], Arg>(`${name}-slice-texts`, (view, argument) =>
    sliceTexts(view.read(list, argument)),
  );
  const slice = query<Encoded, SliceText<Key>>(
    `${name}-slice`,
    (view, text) => new Joined(sliceKeys(text).map((key) => view.read(part, key))),
    sameVersion,
  );
  return query<readonly Encoded[], Arg>(`${name}-slices`, (view, argument) =>
    view.read(texts, argument).map((text) => view.read(slice, text)),
  );
}

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
    if (count < maxKeysPerSlice && index + 1 < keys.length && fnv1a(key) % keysPerSlice !== 0) return;
    texts.push(keys.slice(start, index + 1).join(separator) as SliceText<Key>);
    start = index + 1;
  });
  return texts;
}

export function sliceKeys<Key extends string>(text: SliceText<Key>): readonly Key[] {
  return text.split(separator) as Key[];
}

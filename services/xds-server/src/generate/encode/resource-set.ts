/**
 * All resources of one type for one view: what a stream compares with what its client has. Equal sets of different views are the
 * identical one, and so are the differences and messages that follow from them.
 *
 * A set is made of slices (snapshot/row-index.ts), and so are containers with many parts: a change of one costs its slice and a look at
 * the others.
 */
import { Interner, type NameSetKey, namesOfKey, type ResourceSet, ResourceSlice, SlicedResources } from "@flotilla/xds";
import { type SliceText, sliceKeys, sliceTexts } from "../../snapshot/row-index.ts";
import { query, type ViewQuery } from "../../snapshot/view.ts";
import { contentHash, type Encoded, Joined, sameVersion } from "./encoded.ts";
import type { Generator } from "./generator.ts";

export interface ResourceSetQueries {
  /** Every resource there is: for wildcard subscriptions. */
  readonly all: ViewQuery<undefined, ResourceSet>;
  /** The resources of the names asked for that exist. */
  readonly named: ViewQuery<NameSetKey, ResourceSet>;
}

interface Slice {
  readonly content: ResourceSlice;
  readonly version: string;
}

export function resourceSetQueries({ typeUrl, names, slices, namesFor, resource }: Generator): ResourceSetQueries {
  const sets = new Interner<ResourceSet>();
  const slice = query<Slice, SliceText>(
    `${typeUrl} slice`,
    (view, text) => {
      const resources = sliceKeys(text).flatMap((name) => view.read(resource, name) ?? []);
      const lines = resources.map(({ name, version }) => `${name} ${version}\n`);
      return { content: new ResourceSlice(resources), version: contentHash(lines.join("")) };
    },
    sameVersion,
  );
  const joined = (slices: readonly Slice[]): ResourceSet => {
    const version = contentHash(slices.map((one) => one.version).join(""));
    return sets.intern(version, () => {
      return { typeUrl, byName: new SlicedResources(slices.map(({ content }) => content)), version };
    });
  };
  const allTexts =
    slices ??
    query<readonly SliceText[]>(`${typeUrl} slices of all`, (view) =>
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

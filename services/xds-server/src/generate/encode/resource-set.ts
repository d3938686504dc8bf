/**
 * All resources of one type for one view: what a stream compares with what its client has. Made of slices, so that a
 * change of one resource costs its slice; equal sets of different views are the identical one, and so are the
 * differences and messages that follow from them.
 */
import { Interner, type NameSetKey, namesOfKey, type ResourceSet } from "@flotilla/xds";
import { query, type ViewQuery } from "../../snapshot/view.ts";
import { contentHash } from "./content-hash.ts";
import { type EncodedResource, type SliceText, sliceKeys, sliceTexts } from "./encoded.ts";
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

function sameVersion(a: { readonly version: string } | undefined, b: { readonly version: string }): boolean {
  return a?.version === b.version;
}

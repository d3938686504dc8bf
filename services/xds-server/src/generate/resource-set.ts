/** All resources of one type for one view: what a stream compares with what its client has. */
import type { ResourceSet } from "@flotilla/xds";
import { query, type ViewQuery } from "../snapshot/view.ts";
import type { EncodedResource } from "./encoded-resource.ts";
import type { Generator } from "./generator.ts";
import { contentHash } from "./shared/content-hash.ts";

/** Joins the names of a NameSet's key. */
const separator = "\n";

export interface ResourceSetQueries {
  /** Every resource there is: for wildcard subscriptions. */
  readonly all: ViewQuery<undefined, ResourceSet>;
  /** The resources of the names asked for that exist. */
  readonly named: ViewQuery<string, ResourceSet>;
}

export function resourceSetQueries(generator: Generator): ResourceSetQueries {
  const { typeUrl, names, resource } = generator;
  const sameVersion = (a: ResourceSet, b: ResourceSet) => a?.version === b?.version;
  return {
    all: query(
      `${typeUrl} set`,
      (view) => {
        const found = (names === undefined ? [] : view.read(names)).map((name) => view.read(resource, name));
        return resourceSet(typeUrl, found);
      },
      sameVersion,
    ),
    named: query<ResourceSet, string>(
      `${typeUrl} named`,
      (view, joined) => {
        const wanted = joined === "" ? [] : joined.split(separator);
        return resourceSet(
          typeUrl,
          wanted.map((name) => view.read(resource, name)),
        );
      },
      sameVersion,
    ),
  };
}

function resourceSet(typeUrl: string, found: readonly (EncodedResource | undefined)[]): ResourceSet {
  const byName = new Map<string, EncodedResource>();
  for (const resource of found) if (resource !== undefined) byName.set(resource.name, resource);
  const lines = [...byName.values()].map(({ name, version }) => `${name} ${version}\n`);
  return { typeUrl, byName, version: contentHash(lines.join("")) };
}

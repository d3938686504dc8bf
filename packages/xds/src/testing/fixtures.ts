/** Resources and sets for tests: a resource is its name and a text, its version follows from both. */

import { checksum } from "@flotilla/model";
import { Parts, typeUrl as types } from "@flotilla/proto";
import type { Resource, ResourceSet } from "../resource-set.ts";
import { rulesOf } from "../resource-set.ts";

/** Name in field 1 as Envoy's resources have it; clusters declare in field 2 that they take endpoints by EDS. */
export function resource(typeUrl: string, name: string, content: string): Resource {
  const parts = new Parts().text(1, name);
  if (typeUrl === types.cluster) parts.raw(Uint8Array.of(0x10, 3));
  const bytes = parts.text(15, content).finish();
  return { name, typeUrl, version: checksum(`${typeUrl} ${name} ${content}`), bytes };
}

export function resourceSet(typeUrl: string, contents: Readonly<Record<string, string>>): ResourceSet {
  const resources = Object.entries(contents).map(([name, content]) => resource(typeUrl, name, content));
  return setOf(typeUrl, resources);
}

export function setOf(typeUrl: string, resources: readonly Resource[]): ResourceSet {
  const byName = new Map(resources.map((r) => [r.name, r]));
  return { typeUrl, byName, version: checksum(resources.map(({ name, version }) => `${name} ${version}`).join("\n")) };
}

/** The text of a resource made here; undefined when it has none, as an empty assignment. */
export function contentOf(bytes: Uint8Array): string | undefined {
  const nameLength = bytes[1] ?? 0;
  let at = 2 + nameLength;
  if (bytes[at] === 0x10) at += 2;
  if (at >= bytes.length) return undefined;
  return new TextDecoder().decode(bytes.subarray(at + 2));
}

export function isServedByWildcard(typeUrl: string): boolean {
  return rulesOf(typeUrl).wildcard;
}

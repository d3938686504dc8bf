/** Operations of EnvoyFilters that have no effect, or one that depends on the order of EnvoyFilters. */
import { compareText } from "@flotilla/model";
import { type Field, field, fieldAt, items, numberOf, textOf } from "@flotilla/validation/field";
import type { Analyzer, Index, Mesh } from "../analyzer.ts";
import { type Finding, finding, oncePerText } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";

/** EnvoyFilters by the names of filters that they patch for some versions of proxies only. */
const versionedFilters: Index = {
  name: "filters patched by version",
  kinds: ["EnvoyFilter"],
  keysOf: ({ spec }) => [...new Set(items(spec, "configPatches").filter(hasVersion).map(filterName))],
};

/** The counterpart of istioctl's envoyfilter.EnvoyPatchAnalyzer. */
export const envoyFilters: Analyzer = {
  name: "envoy-filters",
  summary: "patches without effect, or with one that depends on their order",
  messages: ["RelativeOperation", "ReplaceMisused", "AddMisused", "RemoveMisused", "RelativeOperationWithProxyVersion"],
  checks: ["EnvoyFilter"],
  reads: [],
  indexes: [versionedFilters],
  check: (filter, mesh) => {
    const patches = items(filter.spec, "configPatches");
    return oncePerText(
      patches.flatMap((patch, at) => patchFindings({ filter, patch, before: patches.slice(0, at) }, mesh)),
    );
  },
};

interface PatchPlace {
  readonly filter: MeshObject;
  readonly patch: Field;
  /** Patches of the same EnvoyFilter that are applied before. */
  readonly before: readonly Field[];
}

const routeParts: ReadonlySet<string> = new Set(["ROUTE_CONFIGURATION", "HTTP_ROUTE"]);
const replaceable: ReadonlySet<string> = new Set(["NETWORK_FILTER", "HTTP_FILTER", "VIRTUAL_HOST"]);

function patchFindings(place: PatchPlace, mesh: Mesh): readonly Finding[] {
  const { filter, patch } = place;
  const operation = textOf(fieldAt(patch, "patch", "operation"));
  const applyTo = textOf(field(patch, "applyTo"));
  switch (operation) {
    case "ADD":
      return routeParts.has(applyTo) ? [finding("AddMisused", filter, patch, {})] : [];
    case "REMOVE":
      return routeParts.has(applyTo) ? [finding("RemoveMisused", filter, patch, {})] : relativeFindings(place, mesh);
    case "REPLACE":
      return replaceable.has(applyTo) ? relativeFindings(place, mesh) : [finding("ReplaceMisused", filter, patch, {})];
    case "INSERT_BEFORE":
    case "INSERT_AFTER":
      return relativeFindings(place, mesh);
    default:
      return [];
  }
}

function relativeFindings({ filter, patch, before }: PatchPlace, mesh: Mesh): readonly Finding[] {
  if (numberOf(field(filter.spec, "priority")) !== 0) return [];
  const name = filterName(patch);
  const others = mesh.row(versionedFilters, name).filter((other) => isBefore(other, filter));
  const isVersioned = others.length > 0 || before.some((one) => hasVersion(one) && filterName(one) === name);
  return isVersioned
    ? [finding("RelativeOperationWithProxyVersion", filter, patch, {})]
    : [finding("RelativeOperation", filter, patch, {})];
}

/** The order in which EnvoyFilters of one age are applied. */
function isBefore({ key: a }: MeshObject, { key: b }: MeshObject): boolean {
  return (compareText(a.name, b.name) || compareText(a.namespace, b.namespace)) < 0;
}

function hasVersion(patch: Field): boolean {
  return textOf(fieldAt(patch, "match", "proxy", "proxyVersion")) !== "";
}

/** The filter that a patch brings, or else the one that it is about. */
function filterName(patch: Field): string {
  const own = textOf(fieldAt(patch, "patch", "value", "name"));
  return own === "" ? textOf(fieldAt(patch, "match", "listener", "filterChain", "filter", "name")) : own;
}

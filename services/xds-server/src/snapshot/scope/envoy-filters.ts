/** The EnvoyFilters that hold for a proxy, in the order in which they act: all, and those that may change one resource. */
import { type Config, compareByAge } from "@flotilla/model";
import type { EnvoyFilter } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { byNamespace, type RowIndex } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { kindOfPlace, type PatchPlace, patchPlaces } from "./patch-places.ts";
import { isForWaypoint, namesGateway } from "./policy-targets.ts";

export const envoyFiltersByNamespace = byNamespace<EnvoyFilter>("EnvoyFilter");

/** By what their patches may change: an edit concerns the resources of these places, not all. */
export const envoyFiltersByPlace: RowIndex<EnvoyFilter> = {
  name: "EnvoyFilter-by-place",
  kind: "EnvoyFilter",
  keysOf: ({ key, spec }) => patchPlaces(spec).map((place) => placeKey(key.namespace, place)),
};

interface PatchedKinds {
  readonly kinds: readonly string[];
}

/** The kinds of places that a namespace's filters have: resources ask for those alone, and nothing where there are none. */
export const patchedKindsByNamespace: RowIndex<EnvoyFilter> = {
  name: "EnvoyFilter-kinds-by-namespace",
  kind: "EnvoyFilter",
  keysOf: ({ key }) => [key.namespace],
  project: ({ key, creationTimeMs, spec }) => {
    const kinds = [...new Set(patchPlaces(spec).map(kindOfPlace))].sort();
    return { key, creationTimeMs, labels: {}, annotations: {}, spec: { kinds } satisfies PatchedKinds };
  },
};

function placeKey(namespace: string, place: PatchPlace): string {
  return `${namespace}/${place}`;
}

type Filter = Config<EnvoyFilter>;

/** Of the root namespace and of the proxy's own, by priority; of equal ones the root namespace's first, then the oldest. */
export const envoyFilters = query<readonly Filter[]>("envoy-filters", (view) => {
  return ordered(
    view,
    namespacesOf(view).flatMap((namespace) => selecting(view, view.row(envoyFiltersByNamespace, namespace))),
  );
});

/** Those of `envoyFilters` with a patch that stands in one of the places, in the same order. */
export function envoyFiltersAt(view: View, places: readonly PatchPlace[]): readonly Filter[] {
  const kinds = view.read(patchedKinds);
  if (kinds.size === 0) return none;
  const found = places.filter((place) => kinds.has(kindOfPlace(place))).map((place) => view.read(filtersAt, place));
  const all = new Set(found.flat());
  return all.size === 0 ? none : ordered(view, [...all]);
}

const none: readonly Filter[] = [];

/** Asked by every resource before anything else. */
export const hasPatches = query<boolean>("has-patches", (view) => view.read(patchedKinds).size > 0);

const patchedKinds = query<ReadonlySet<string>>("patched-kinds", (view) => {
  const index = patchedKindsByNamespace as RowIndex<unknown> as RowIndex<PatchedKinds>;
  return new Set(
    namespacesOf(view).flatMap((namespace) => view.row(index, namespace).flatMap(({ spec }) => spec.kinds)),
  );
});

const filtersAt = query<readonly Filter[], PatchPlace>("envoy-filters-at", (view, place) =>
  namespacesOf(view).flatMap((namespace) => selecting(view, view.row(envoyFiltersByPlace, placeKey(namespace, place)))),
);

function namespacesOf(view: View): readonly string[] {
  return [...new Set([view.mesh.rootNamespace, view.proxy.namespace])];
}

/** A waypoint takes those only that name its Gateway or its class. Source: istiod asked. */
function selecting(view: View, filters: readonly Filter[]): readonly Filter[] {
  if (filters.length === 0) return none;
  const general = view.proxy.type === "waypoint" ? none : filters.filter(({ spec }) => spec.targetRefs.length === 0);
  const selected = new Set(view.proxy.selecting(general, ({ spec }) => spec.workloadSelector?.labels ?? {}));
  const names = view.proxy.type === "waypoint" ? isForWaypoint : namesGateway;
  return filters.filter(
    (filter) => selected.has(filter) || (filter.spec.targetRefs.length > 0 && names(view, targeted(filter))),
  );
}

function ordered(view: View, filters: readonly Filter[]): readonly Filter[] {
  if (filters.length < 2) return filters;
  const { rootNamespace } = view.mesh;
  return filters.toSorted((a, b) => {
    const isOfRoot = Number(b.key.namespace === rootNamespace) - Number(a.key.namespace === rootNamespace);
    return a.spec.priority - b.spec.priority || isOfRoot || compareByAge(a, b);
  });
}

function targeted({ key, spec, ...config }: Filter) {
  return { ...config, key, spec: { targetRefs: spec.targetRefs } };
}

/**
 * Selects the patches of EnvoyFilters that hold for a proxy. Equal sets of patches are the identical one: proxies that match alike share
 * what is made of them, and a change of one patch reaches nothing but the resources whose set differs then.
 */
import type { Finding } from "@flotilla/incremental";
import { type Config, configKeyText } from "@flotilla/model";
import type { EnvoyFilter } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { Interner } from "@flotilla/xds";
import { ProxyPattern } from "../../snapshot/proxy-pattern.ts";
import { envoyFilters, envoyFiltersAt } from "../../snapshot/scope/envoy-filters.ts";
import type { PatchPlace } from "../../snapshot/scope/patch-places.ts";
import { query, type View } from "../../snapshot/view.ts";
import { contentHash } from "../encode/encoded.ts";
import { Context, type Patch, type PatchProblem, readPatches } from "../patch/patch.ts";

export interface PatchSet {
  /** In the order in which they act; at least one. */
  readonly patches: readonly Patch[];
}

/** The patches that hold for a proxy and may change a resource of these places, in the order in which they act. */
export function patchesAt(view: View, places: readonly PatchPlace[]): readonly Patch[] {
  return envoyFiltersAt(view, places).flatMap((filter) => view.read(heldPatches, filter));
}

/** All that hold for a proxy, with what is wrong with the others: resources that they add are of no place yet. */
export const proxyPatches = query<readonly Patch[]>("proxy-patches", (view) =>
  view.read(envoyFilters).flatMap((filter) => view.read(heldPatches, filter)),
);

/** Those of one object that hold for the proxy. */
const heldPatches = query<readonly Patch[], Config<EnvoyFilter>>("held-patches", (view, filter) => {
  const all = view.read(filterPatches, filter);
  const patterns = view.proxy.matching(all.flatMap(({ pattern }) => pattern ?? []));
  return all.filter(({ pattern }) => pattern === undefined || patterns.has(pattern)).map(({ patch }) => patch);
});

export function contextsOf(view: View): readonly Context[] {
  const { type } = view.proxy;
  return contexts[type === "router" || type === "waypoint" ? type : "sidecar"];
}

const contexts = {
  router: [Context.GATEWAY],
  // As in istiod: filters within tunnels are patched as those towards a workload are.
  waypoint: [Context.SIDECAR_INBOUND],
  sidecar: [Context.SIDECAR_INBOUND, Context.SIDECAR_OUTBOUND],
} as const;

interface HeldPatch {
  readonly patch: Patch;
  readonly pattern: ProxyPattern | undefined;
}

/** Read once for each object, for all proxies. */
const filterPatches = query<readonly HeldPatch[], Config<EnvoyFilter>>("filter-patches", (view, { key, spec }) => {
  const { patches, problems } = readPatches(configKeyText(key), spec, contentHash);
  for (const problem of problems) view.report(findingOf(problem));
  return patches.flatMap((patch) => {
    const condition = patch.match?.proxy;
    const pattern = condition && new ProxyPattern(condition);
    if (pattern?.problem === undefined) return [{ patch, pattern }];
    const { object, index } = patch;
    view.report(findingOf({ object, index, path: "match.proxy.proxyVersion", reason: pattern.problem }));
    return [];
  });
});

const sets = new Interner<PatchSet>();

/** The identical one for equal patches; undefined for none. */
export function patchSet(patches: readonly Patch[]): PatchSet | undefined {
  if (patches.length === 0) return undefined;
  return sets.intern(patches.map(({ id }) => id).join("\n"), () => ({ patches }));
}

export function findingOf({ object, index, path, reason }: PatchProblem, resource?: string): Finding {
  const place = `spec.configPatches[${index}]${path === "" ? "" : `.${path}`}`;
  const message = `${place} ${reason}${resource === undefined ? "" : `, on ${resource}`}`;
  return { metric: "flotilla_envoy_filter_problem", object, message };
}

/** The same result for the identical set, made when it is first asked for. */
export function perSet<Result extends object>(make: (set: PatchSet) => Result): (set: PatchSet) => Result {
  const results = new WeakMap<PatchSet, Result>();
  return (set) => {
    const known = results.get(set);
    if (known !== undefined) return known;
    const result = make(set);
    results.set(set, result);
    return result;
  };
}

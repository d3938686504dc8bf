/** The EnvoyFilters that hold for a proxy, in the order in which they act. */
import { type Config, compareByAge } from "@flotilla/model";
import type { EnvoyFilter } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { byNamespace } from "../row-index.ts";
import { query } from "../view.ts";
import { namesGateway } from "./policy-targets.ts";

export const envoyFiltersByNamespace = byNamespace<EnvoyFilter>("EnvoyFilter");

type Filter = Config<EnvoyFilter>;

/** Of the root namespace and of the proxy's own, by priority; of equal ones the root namespace's first, then the oldest. */
export const envoyFilters = query<readonly Filter[]>("envoy-filters", (view) => {
  const { rootNamespace } = view.mesh;
  const { namespace } = view.proxy;
  const root = view.row(envoyFiltersByNamespace, rootNamespace);
  const own = namespace === rootNamespace ? [] : view.row(envoyFiltersByNamespace, namespace);
  if (root.length + own.length === 0) return none;
  const all = [...root, ...own];
  const general = all.filter(({ spec }) => spec.targetRefs.length === 0);
  const selecting = new Set(view.proxy.selecting(general, ({ spec }) => spec.workloadSelector?.labels ?? {}));
  return all
    .filter(
      (filter) => selecting.has(filter) || (filter.spec.targetRefs.length > 0 && namesGateway(view, targeted(filter))),
    )
    .sort((a, b) => {
      const isOfRoot = Number(b.key.namespace === rootNamespace) - Number(a.key.namespace === rootNamespace);
      return a.spec.priority - b.spec.priority || isOfRoot || compareByAge(a, b);
    });
});

const none: readonly Filter[] = [];

function targeted({ key, spec, ...config }: Filter) {
  return { ...config, key, spec: { targetRefs: spec.targetRefs } };
}

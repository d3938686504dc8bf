/** Objects that are meant for selected workloads, and select none that is known. */
import type { Finding } from "@flotilla/incremental";
import { type Change, type Config, type Labels, matchesLabels, ownValue } from "@flotilla/model";

export const selectsNothing = "flotilla_selects_no_workload";

interface Workload {
  readonly namespace: string;
  readonly labels: Labels;
}

/** Where an object's labels to select by stand in its spec. */
const selectorOf: Readonly<Record<string, (spec: Spec) => Labels | undefined>> = {
  Sidecar: ({ workloadSelector }) => workloadSelector?.labels,
  DestinationRule: ({ workloadSelector }) => workloadSelector?.matchLabels,
  PeerAuthentication: ({ selector }) => selector?.matchLabels,
  RequestAuthentication: ({ selector }) => selector?.matchLabels,
  AuthorizationPolicy: ({ selector }) => selector?.matchLabels,
};

interface Spec {
  readonly workloadSelector?: { readonly labels?: Labels; readonly matchLabels?: Labels };
  readonly selector?: { readonly matchLabels?: Labels };
}

/**
 * Workloads are known by their endpoints, or by a proxy that is connected here: one that is no service's endpoint and
 * connected to another replica is not. Objects of the root namespace select in all namespaces, but for Sidecars.
 */
export function findUnselected(
  inputs: Iterable<Change>,
  proxies: readonly Workload[],
  rootNamespace: string,
): readonly Finding[] {
  const changes = [...inputs].filter(({ op }) => op === "put");
  const endpoints = changes.flatMap((change) =>
    change.type === "endpoints" && change.op === "put" ? change.value : [],
  );
  const workloads = [...distinct([...proxies, ...endpoints])];
  return changes.flatMap((change) => {
    if (change.type !== "config" || change.op !== "put") return [];
    const selector = ownValue(selectorOf, change.key.kind)?.((change.value as Config<Spec>).spec) ?? {};
    if (Object.keys(selector).length === 0) return [];
    const { kind, namespace, name } = change.key;
    const isForAll = namespace === rootNamespace && kind !== "Sidecar";
    const isSelected = workloads.some(
      (workload) => (isForAll || workload.namespace === namespace) && matchesLabels(selector, workload.labels),
    );
    if (isSelected) return [];
    const labels = Object.entries(selector).map(([label, value]) => `${label}=${value}`);
    const message = `no known workload has the labels ${labels.join(", ")}`;
    return [{ metric: selectsNothing, object: `${kind}/${namespace}/${name}`, message }];
  });
}

/** A workload of many ports and services is many endpoints. */
function distinct(workloads: readonly Workload[]): Iterable<Workload> {
  return new Map(workloads.map((one) => [`${one.namespace}|${JSON.stringify(one.labels)}`, one])).values();
}

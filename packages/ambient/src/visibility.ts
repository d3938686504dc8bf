/** Selects the services that ztunnels and waypoints see in a namespace, and the one that a host name resolves to. */
import { type Labels, matchesSelector } from "@flotilla/model";
import {
  type ServiceEntryVisibility,
  ServiceEntryVisibility_Visibility as Visibility,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";

/** `namespace`: callers of other namespaces do not see it; `hidden`: no callers do. */
export type EntryVisibility = "public" | "namespace" | "hidden";

/**
 * Of the ServiceEntries of a namespace, by MeshConfig's `serviceEntryVisibility`: the first policy that matches it decides. All rules of a policy
 * have to match, and one without rules matches every namespace.
 */
export function entryVisibility(
  settings: ServiceEntryVisibility | undefined,
  namespace: string,
  namespaceLabels: Labels,
): EntryVisibility {
  if (settings === undefined) return "public";
  const labels = { "kubernetes.io/metadata.name": namespace, ...namespaceLabels };
  const policy = settings.policies.find(({ matchingRules }) =>
    matchingRules.every(
      ({ matcher }) => matcher.case === "namespaceSelector" && matchesSelector(matcher.value, labels),
    ),
  );
  const visibility = policy === undefined ? settings.defaultVisibility : policy.visibility;
  if (visibility === Visibility.NONE) return "hidden";
  return visibility === Visibility.NAMESPACE ? "namespace" : "public";
}

/** One of the services of a host name. */
export interface Candidate {
  readonly namespace: string;
  readonly isKubernetes: boolean;
  readonly creationTimeMs: number;
  readonly visibility: EntryVisibility;
}

/** Of each namespace one is served: a Service of Kubernetes, else the oldest. */
export function servedOf<One extends Candidate>(all: readonly One[]): readonly One[] {
  return [...Map.groupBy(all, ({ namespace }) => namespace).values()].flatMap((ofNamespace) => {
    const own = ofNamespace.filter(({ isKubernetes }) => isKubernetes);
    return oldest(own.length > 0 ? own : ofNamespace) ?? [];
  });
}

/** Of the served candidates, callers resolve to a Service of Kubernetes, else to the oldest public one. */
export function canonicalOf<One extends Candidate>(served: readonly One[]): One | undefined {
  const own = served.filter(({ isKubernetes }) => isKubernetes);
  return oldest(own.length > 0 ? own : served.filter(({ visibility }) => visibility === "public"));
}

function oldest<One extends Candidate>(all: readonly One[]): One | undefined {
  return all.toSorted((a, b) => a.creationTimeMs - b.creationTimeMs)[0];
}

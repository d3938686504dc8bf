/** The inputs of bindings and workloads from namespaces and from the mesh as a whole. */
import type { Labelled } from "@flotilla/ambient";
import { ownValue } from "@flotilla/model";
import { query, type View } from "../view.ts";

const none: Labelled = { labels: {}, annotations: {} };

export const namespaceTraits = query<Labelled, string>(
  "ambient-namespace",
  (view, name) => {
    const namespace = view.config("Namespace", "", name);
    return namespace === undefined ? none : { labels: namespace.labels, annotations: namespace.annotations };
  },
  sameJson,
);

/** The network of the cluster that the control plane runs in; "" without one. */
export const meshNetwork = query<string>("mesh-network", (view) => {
  const { labels } = view.read(namespaceTraits, view.mesh.rootNamespace);
  return ownValue(labels, "topology.istio.io/network") ?? "";
});

/** Empty for the one that ztunnel assumes. */
export function trustDomainForZtunnel(view: View): string {
  const { trustDomain } = view.mesh;
  return trustDomain === "cluster.local" ? "" : trustDomain;
}

/** For facts: plain data, whose order is fixed. */
export function sameJson(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** Which kinds are configuration that config-controller publishes. */
import { isIstioKind, kindOf } from "@flotilla/kinds";

/** Groups all of whose kinds are. */
const configGroups: ReadonlySet<string> = new Set([
  "gateway.networking.k8s.io",
  "gateway.networking.x-k8s.io",
  "inference.networking.k8s.io",
  "multicluster.x-k8s.io",
]);

/** Kubernetes' own that configuration refers to or is written in. */
const configKinds: ReadonlySet<string> = new Set([
  "Namespace",
  "Secret",
  "ConfigMap",
  "ServiceAccount",
  "Ingress",
  "IngressClass",
]);

/** The mesh's name of the kind; undefined for kinds that are no configuration. */
export function configKind(apiVersion: string, kind: string): string | undefined {
  const row = kindOf({ apiVersion, kind });
  if (row === undefined) return undefined;
  return isIstioKind(row) || configGroups.has(row.group) || configKinds.has(row.name) ? row.name : undefined;
}

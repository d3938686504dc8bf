/**
 * Which Secrets a sidecar may be handed: those that a DestinationRule of its namespace names for workloads it selects. A
 * rule without a selector hands out nothing, since every workload of the namespace could ask then.
 */
import { secretName } from "@flotilla/model";
import type { DestinationRule, TrafficPolicy } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { RowIndex } from "../row-index.ts";
import type { View } from "../view.ts";
import { isBackendTlsRoot } from "./backend-tls.ts";

/** Rules that select workloads and name Secrets, by namespace. */
export const grantingDestinationRules: RowIndex<DestinationRule> = {
  name: "granting-destination-rules",
  kind: "DestinationRule",
  keysOf: ({ key, spec }) =>
    spec.workloadSelector !== undefined && namedSecrets(spec).length > 0 ? [key.namespace] : [],
};

/** @param name as the clusters of the rule ask for it, without `-cacert` */
export function isGranted(view: View, name: string): boolean {
  if (name.startsWith("configmap://") && view.read(isBackendTlsRoot, name)) return true;
  return view
    .row(grantingDestinationRules, view.proxy.namespace)
    .some(
      ({ spec }) => namedSecrets(spec).includes(name) && view.proxy.matches(spec.workloadSelector?.matchLabels ?? {}),
    );
}

function namedSecrets(spec: DestinationRule): readonly string[] {
  const policies = [spec.trafficPolicy, ...spec.subsets.map(({ trafficPolicy }) => trafficPolicy)];
  const names = policies.flatMap((policy) => credentialsOf(policy)).filter((name) => name !== "");
  return names.map(secretName);
}

function credentialsOf(policy: TrafficPolicy | undefined): readonly string[] {
  if (policy === undefined) return [];
  return [policy.tls, ...policy.portLevelSettings.map(({ tls }) => tls)].map((tls) => tls?.credentialName ?? "");
}

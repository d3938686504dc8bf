/**
 * Selects the Secrets that a caller may receive. A key pair of its own namespace: where its account may read Secrets (the API server or a
 * setting decides), and where no permission is known, to routers, and to sidecars that a DestinationRule with a selector names it for. A key pair
 * by `kubernetes-gateway://`: where a Gateway that is for the caller refers to it, across namespaces by a ReferenceGrant. Roots are no
 * secrets.
 */
import { type CredentialName, secretName, withoutRootSuffix } from "@flotilla/model";
import type { DestinationRule, TrafficPolicy } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { RowIndex } from "../row-index.ts";
import type { View } from "../view.ts";
import { gatewayCredentials } from "./gateway-credentials.ts";

/** Rules that select workloads and name Secrets, by namespace. */
export const grantingDestinationRules: RowIndex<DestinationRule> = {
  name: "granting-destination-rules",
  kind: "DestinationRule",
  keysOf: ({ key, spec }) =>
    spec.workloadSelector !== undefined && namedSecrets(spec).length > 0 ? [key.namespace] : [],
};

/** @param resource the text that `name` was parsed from */
export function isGranted(view: View, name: CredentialName, resource: string): boolean {
  if (name.scheme === "kubernetes-gateway") return view.read(gatewayCredentials).has(withoutRootSuffix(resource));
  if (name.isRoot) return true;
  const { secretAccess, type } = view.proxy;
  if (secretAccess !== undefined) return secretAccess === "granted";
  return type === "router" || type === "waypoint" || isNamedForSidecar(view, resource);
}

function isNamedForSidecar(view: View, resource: string): boolean {
  return view
    .row(grantingDestinationRules, view.proxy.namespace)
    .some(
      ({ spec }) =>
        namedSecrets(spec).includes(resource) && view.proxy.matches(spec.workloadSelector?.matchLabels ?? {}),
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

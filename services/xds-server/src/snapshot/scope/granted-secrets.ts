/**
 * Which Secrets a caller may be sent. A key pair of its own namespace: where its account may read Secrets (the API server or a
 * setting decides), and where nobody decides, to routers, and to sidecars that a DestinationRule with a selector names it for. A key
 * pair by `kubernetes-gateway://`: where a Gateway that is for the caller refers to it, across namespaces by a ReferenceGrant. Roots
 * are no secrets.
 */
import { type Config, type CredentialName, credentialReferences, secretName, withoutRootSuffix } from "@flotilla/model";
import type { DestinationRule, TrafficPolicy } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { byNamespace, type RowIndex } from "../row-index.ts";
import type { View } from "../view.ts";

/** Rules that select workloads and name Secrets, by namespace. */
export const grantingDestinationRules: RowIndex<DestinationRule> = {
  name: "granting-destination-rules",
  kind: "DestinationRule",
  keysOf: ({ key, spec }) =>
    spec.workloadSelector !== undefined && namedSecrets(spec).length > 0 ? [key.namespace] : [],
};

interface KubernetesGatewaySpec {
  readonly addresses?: readonly unknown[];
}

/** Gateways of the Gateway API, by `namespace/name` of the Secrets that they refer to. */
export const gatewaysBySecret: RowIndex<KubernetesGatewaySpec> = {
  name: "gateways-by-secret",
  kind: "KubernetesGateway",
  keysOf: ({ key, spec }) => [
    ...new Set(
      credentialReferences(key.namespace, spec).flatMap(({ kind, namespace, name }) =>
        kind === "Secret" && namespace !== undefined ? [`${namespace}/${name}`] : [],
      ),
    ),
  ],
};

interface ReferenceGrantSpec {
  readonly from?: readonly { readonly group?: string; readonly kind?: string; readonly namespace?: string }[];
  readonly to?: readonly { readonly group?: string; readonly kind?: string; readonly name?: string }[];
}

export const referenceGrants: RowIndex<ReferenceGrantSpec> = byNamespace("ReferenceGrant");

/** @param resource the text that `name` was parsed from */
export function isGranted(view: View, name: CredentialName, resource: string): boolean {
  if (name.scheme === "kubernetes-gateway") return isOfOwnGateway(view, name);
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

const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

function isOfOwnGateway(view: View, { namespace, object }: CredentialName): boolean {
  const name = withoutRootSuffix(object);
  return view.row(gatewaysBySecret, `${namespace}/${name}`).some(({ key, spec }) => {
    if (key.namespace !== view.proxy.namespace) return false;
    // A Gateway with addresses has no Deployment of its own: its proxies are found by their Services.
    if (view.proxy.label(gatewayNameLabel) !== key.name && (spec.addresses ?? []).length === 0) return false;
    return key.namespace === namespace || view.row(referenceGrants, namespace).some(grants(key.namespace, name));
  });
}

function grants(fromNamespace: string, secret: string): (grant: Config<ReferenceGrantSpec>) => boolean {
  return ({ spec: { from = [], to = [] } }) =>
    from.some(
      ({ group, kind, namespace }) =>
        group === "gateway.networking.k8s.io" && kind === "Gateway" && namespace === fromNamespace,
    ) &&
    to.some(({ group = "", kind, name = "" }) => group === "" && kind === "Secret" && (name === "" || name === secret));
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

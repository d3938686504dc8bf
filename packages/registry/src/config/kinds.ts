/** Which kinds of which API groups are configuration, and what they are called where names clash. */
import { apiGroup } from "@flotilla/model";

const kindsByGroup: Readonly<Record<string, readonly string[]>> = {
  "": ["Namespace", "Secret", "ConfigMap", "ServiceAccount"],
  "networking.istio.io": [
    "VirtualService",
    "DestinationRule",
    "Gateway",
    "ServiceEntry",
    "WorkloadEntry",
    "WorkloadGroup",
    "Sidecar",
    "EnvoyFilter",
    "ProxyConfig",
  ],
  "security.istio.io": ["AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"],
  "telemetry.istio.io": ["Telemetry"],
  "extensions.istio.io": ["WasmPlugin"],
  "gateway.networking.k8s.io": [
    "GatewayClass",
    "Gateway",
    "HTTPRoute",
    "GRPCRoute",
    "TCPRoute",
    "TLSRoute",
    "UDPRoute",
    "ReferenceGrant",
    "BackendTLSPolicy",
    "ListenerSet",
  ],
  "gateway.networking.x-k8s.io": ["XBackend", "XBackendTrafficPolicy"],
  "networking.k8s.io": ["Ingress", "IngressClass"],
  "multicluster.x-k8s.io": ["ServiceExport", "ServiceImport"],
};

/** The mesh's name of the kind; undefined for kinds that are no configuration. */
export function configKind(apiVersion: string, kind: string): string | undefined {
  const group = apiGroup(apiVersion);
  if (kindsByGroup[group]?.includes(kind) !== true) return undefined;
  return group === "gateway.networking.k8s.io" && kind === "Gateway" ? "KubernetesGateway" : kind;
}

const clusterScoped: ReadonlySet<string> = new Set(["Namespace", "Node", "GatewayClass", "IngressClass"]);

/** Do objects of the kind stand outside of namespaces? */
export function isClusterScoped(kind: string): boolean {
  return clusterScoped.has(kind);
}

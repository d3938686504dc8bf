const prefix = "type.googleapis.com/";

/** Type URLs of what a control plane serves and reads. */
export const typeUrl = {
  cluster: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  listener: "type.googleapis.com/envoy.config.listener.v3.Listener",
  endpoint: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  route: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
  secret: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
  extensionConfig: "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
  nameTable: "type.googleapis.com/istio.networking.nds.v1.NameTable",
  proxyConfig: "type.googleapis.com/istio.mesh.v1alpha1.ProxyConfig",
  address: "type.googleapis.com/istio.workload.Address",
  workload: "type.googleapis.com/istio.workload.Workload",
  authorization: "type.googleapis.com/istio.security.Authorization",
  healthInformation: "type.googleapis.com/istio.v1.HealthInformation",
  /** Of MCP, the bare message; objects have `group/version/Kind`. */
  meshConfig: "core/v1alpha1/MeshConfig",
  bootstrap: "type.googleapis.com/envoy.config.bootstrap.v3.Bootstrap",
} as const;

/** What the debug interface answers is asked for as this, or as this followed by `/` and a name. */
export const debugTypeUrl = "istio.io/debug";

/** A type URL of xDS: one of the table, `istio.io/debug/…`, or `group/version/Kind` of MCP. */
export type TypeUrl = string;

export function typeUrlOf(typeName: string): TypeUrl {
  return prefix + typeName;
}

/** The message's full name: what follows the last slash. */
export function typeNameOf(url: TypeUrl): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

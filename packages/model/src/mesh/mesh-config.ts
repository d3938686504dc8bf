/** The defaults of MeshConfig, as protobuf JSON to be decoded by the reader. Source: corpus mesh-config. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export const defaultProxyConfig: JsonObject = {
  configPath: "./etc/istio/proxy",
  binaryPath: "/usr/local/bin/envoy",
  drainDuration: "45s",
  terminationDrainDuration: "5s",
  serviceCluster: "istio-proxy",
  discoveryAddress: "istiod.istio-system.svc:15012",
  controlPlaneAuthPolicy: "MUTUAL_TLS",
  proxyAdminPort: 15000,
  statNameLength: 189,
  statusPort: 15020,
};

/** Settings of a mesh that configures no others. */
export const defaultMeshConfig: JsonObject = {
  proxyListenPort: 15001,
  proxyInboundListenPort: 15006,
  ingressService: "istio-ingressgateway",
  ingressControllerMode: "STRICT",
  ingressClass: "istio",
  connectTimeout: "10s",
  enableTracing: true,
  defaultConfig: defaultProxyConfig,
  outboundTrafficPolicy: { mode: "ALLOW_ANY" },
  inboundTrafficPolicy: {},
  localityLbSetting: { enabled: true },
  dnsRefreshRate: "60s",
  enableAutoMtls: true,
  trustDomain: "cluster.local",
  defaultServiceExportTo: ["*"],
  defaultVirtualServiceExportTo: ["*"],
  defaultDestinationRuleExportTo: ["*"],
  rootNamespace: "istio-system",
  extensionProviders: [
    { name: "prometheus", prometheus: {} },
    { name: "stackdriver", stackdriver: {} },
    { name: "envoy", envoyFileAccessLog: { path: "/dev/stdout" } },
  ],
  defaultProviders: {},
  protocolDetectionTimeout: "0s",
  enablePrometheusMerge: true,
};

/** The defaults of MeshConfig and how documents override them. Values are protobuf JSON, to be decoded by the reader. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** What a mesh has that says nothing else; source: Istio's MeshConfig reference and corpus mesh-config. */
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

export const defaultMeshConfig: JsonObject = {
  proxyListenPort: 15001,
  proxyInboundListenPort: 15006,
  ingressService: "istio-ingressgateway",
  ingressControllerMode: "STRICT",
  ingressClass: "istio",
  connectTimeout: "10s",
  enableTracing: false,
  accessLogFile: "",
  accessLogEncoding: "TEXT",
  accessLogFormat: "",
  outboundTrafficPolicy: { mode: "ALLOW_ANY" },
  inboundTrafficPolicy: { mode: "PASSTHROUGH" },
  localityLbSetting: { enabled: true },
  dnsRefreshRate: "60s",
  thriftConfig: {},
  serviceSettings: [],
  enableAutoMtls: true,
  trustDomain: "cluster.local",
  trustDomainAliases: [],
  defaultServiceExportTo: ["*"],
  defaultVirtualServiceExportTo: ["*"],
  defaultDestinationRuleExportTo: ["*"],
  rootNamespace: "istio-system",
  extensionProviders: [
    { name: "prometheus", prometheus: {} },
    { name: "stackdriver", stackdriver: {} },
    { name: "envoy", envoyFileAccessLog: { path: "/dev/stdout" } },
  ],
  defaultProviders: { metrics: ["prometheus"] },
  protocolDetectionTimeout: "0s",
  enablePrometheusMerge: true,
  enableEnvoyAccessLogService: false,
};

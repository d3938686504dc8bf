/** The annotations that Istio documents, the kinds they are for, and how stable they are. */

export interface KnownAnnotation {
  /** `Any` for those that every kind may have. */
  readonly kinds: readonly string[];
  readonly isAlpha: boolean;
  readonly isDeprecated: boolean;
}

/** Annotations of the groups of Istio, and the one of Kubernetes that Istio documents. */
export function isAnnotationOfMesh(name: string): boolean {
  return name === "kubernetes.io/ingress.class" || (name.split("/")[0] ?? "").endsWith("istio.io");
}

/** By stability and kinds; a leading minus marks deprecated ones. */
const groups: readonly (readonly [stability: "alpha" | "stable", kinds: string, names: string])[] = [
  ["alpha", "Service", "alpha.istio.io/ -canonical-serviceaccounts -kubernetes-serviceaccounts"],
  ["alpha", "Service", "networking.istio.io/ exportTo"],
  ["alpha", "Pod", "ambient.istio.io/ bypass-inbound-capture dns-capture"],
  ["alpha", "Pod", "inject.istio.io/ templates"],
  ["alpha", "Pod", "istio.io/ reroute-virtual-interfaces rev"],
  ["alpha", "Pod", "prometheus.istio.io/ merge-metrics"],
  ["alpha", "Pod", "proxy.istio.io/ overrides"],
  [
    "alpha",
    "Pod",
    "readiness.status.sidecar.istio.io/ applicationPorts failureThreshold initialDelaySeconds periodSeconds",
  ],
  [
    "alpha",
    "Pod",
    "sidecar.istio.io/ agentLogLevel bootstrapOverride componentLogLevel -discoveryAddress -extraStatTags interceptionMode logLevel nativeSidecar proxyCPU proxyCPULimit proxyImage proxyImageType proxyMemory proxyMemoryLimit rewriteAppHTTPProbers -statsCompression statsEvictionInterval statsFlushInterval statsHistogramBins statsHistogramBuckets -statsInclusionPrefixes -statsInclusionRegexps -statsInclusionSuffixes status userVolume userVolumeMount",
  ],
  ["alpha", "Pod", "status.sidecar.istio.io/ port"],
  [
    "alpha",
    "Pod",
    "traffic.sidecar.istio.io/ excludeInboundPorts excludeInterfaces excludeOutboundIPRanges excludeOutboundPorts includeInboundPorts includeOutboundIPRanges includeOutboundPorts -kubevirtInterfaces",
  ],
  ["stable", "Pod", "ambient.istio.io/ redirection"],
  ["stable", "Pod", "proxy.istio.io/ config"],
  ["stable", "Pod", "sidecar.istio.io/ -inject"],
  ["alpha", "GatewayClass Gateway", "ambient.istio.io/ waypoint-inbound-binding"],
  ["alpha", "Any", "galley.istio.io/ analyze-suppress"],
  ["alpha", "Any", "gateway.istio.io/ controller-version"],
  ["alpha", "Gateway", "gateway.istio.io/ name-override service-account"],
  ["alpha", "Gateway", "networking.istio.io/ service-type"],
  ["alpha", "WorkloadEntry", "istio.io/ autoRegistrationGroup connectedAt disconnectedAt workloadController"],
  ["alpha", "AuthorizationPolicy", "istio.io/ dry-run"],
  ["alpha", "Service ServiceEntry Namespace", "istio.io/ use-waypoint-canary-weight"],
  ["stable", "Ingress", "kubernetes.io/ ingress.class"],
  ["alpha", "Namespace Service ServiceEntry", "networking.istio.io/ traffic-distribution"],
  ["alpha", "Namespace", "topology.istio.io/ controlPlaneClusters"],
  ["stable", "Service", "traffic.istio.io/ nodeSelector"],
];

export const knownAnnotations: ReadonlyMap<string, KnownAnnotation> = new Map(
  groups.flatMap(([stability, kinds, names]) => {
    const [group = "", ...own] = names.split(" ");
    return own.map((name): [string, KnownAnnotation] => {
      const isDeprecated = name.startsWith("-");
      const known = { kinds: kinds.split(" "), isAlpha: stability === "alpha", isDeprecated };
      return [group + (isDeprecated ? name.slice(1) : name), known];
    });
  }),
);

/** The rights that each account of k8s/base needs, and nothing else: written from the services' code, not from their manifests. */

export interface Right {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Only there; everywhere when not set. */
  readonly namespace?: string;
  /** Only objects of these names. */
  readonly names?: readonly string[];
}

const read = ["get", "list", "watch"];
const own = "istio-system";
const istioGroups = ["networking.istio.io", "security.istio.io", "telemetry.istio.io", "extensions.istio.io"];

function leases(...names: readonly string[]): readonly Right[] {
  const lease = { group: "coordination.k8s.io", resources: ["leases"], namespace: own };
  return [
    { ...lease, verbs: ["create"] },
    { ...lease, verbs: ["get", "update"], names },
  ];
}

/** Of services that ask the API server about the tokens that they are shown. */
const tokenReviews: Right = { group: "authentication.k8s.io", resources: ["tokenreviews"], verbs: ["create"] };

export const rightsOf: Readonly<Record<string, readonly Right[]>> = {
  "flotilla-ca": [
    tokenReviews,
    { group: "", resources: ["pods", "namespaces"], verbs: read },
    { group: "", resources: ["configmaps"], verbs: ["create"] },
    {
      group: "",
      resources: ["configmaps"],
      verbs: [...read, "update"],
      names: ["istio-ca-root-cert", "istio-ca-crl"],
    },
    { group: "", resources: ["secrets"], verbs: ["create", "list", "watch"], namespace: own },
    { group: "", resources: ["secrets"], verbs: ["get", "update"], namespace: own, names: ["istio-ca-secret"] },
    ...leases("istio-namespace-controller-election", "istio-clustertrustbundle-controller-election"),
  ],
  "flotilla-config-controller": [
    tokenReviews,
    ...[...istioGroups, "gateway.networking.k8s.io", "inference.networking.k8s.io"].flatMap((group) => [
      { group, resources: ["*"], verbs: read },
      { group, resources: ["*/status"], verbs: ["patch"] },
    ]),
    { group: "networking.k8s.io", resources: ["ingresses", "ingressclasses"], verbs: read },
    { group: "networking.k8s.io", resources: ["ingresses/status"], verbs: ["update"] },
    { group: "", resources: ["services/status"], verbs: ["patch"] },
    { group: "", resources: ["services", "namespaces", "secrets", "serviceaccounts", "configmaps"], verbs: read },
    { group: "", resources: ["pods", "nodes"], verbs: read },
    { group: "apiextensions.k8s.io", resources: ["customresourcedefinitions"], verbs: ["get"] },
    { group: "admissionregistration.k8s.io", resources: ["mutatingwebhookconfigurations"], verbs: read },
    // Objects deployed for Gateways.
    { group: "gateway.networking.k8s.io", resources: ["gateways"], verbs: ["patch"] },
    { group: "gateway.networking.k8s.io", resources: ["gatewayclasses"], verbs: ["create"] },
    ...(
      [
        ["", ["services", "serviceaccounts"]],
        ["apps", ["deployments"]],
        ["autoscaling", ["horizontalpodautoscalers"]],
        ["policy", ["poddisruptionbudgets"]],
      ] as const
    ).map(([group, resources]) => ({ group, resources, verbs: [...read, "create", "patch"] })),
    ...leases("istio-leader", "istio-status-leader", "istio-gateway-status-leader"),
    ...leases("istio-gateway-deployment-default", "flotilla-kind-definitions"),
  ],
  "flotilla-service-controller": [
    tokenReviews,
    { group: "", resources: ["services", "pods", "nodes", "namespaces", "endpoints"], verbs: read },
    { group: "discovery.k8s.io", resources: ["endpointslices"], verbs: read },
    {
      group: "networking.istio.io",
      resources: ["workloadentries"],
      verbs: ["get", "list", "create", "update", "delete"],
    },
    { group: "networking.istio.io", resources: ["workloadentries/status"], verbs: ["update"] },
    { group: "networking.istio.io", resources: ["workloadgroups"], verbs: ["get"] },
    { group: "", resources: ["secrets"], verbs: read, namespace: own },
    ...leases("istio-serviceexport-controller-election", "flotilla-workload-entries"),
  ],
  "flotilla-xds-server": [
    tokenReviews,
    { group: "authorization.k8s.io", resources: ["subjectaccessreviews"], verbs: ["create"] },
    { group: "", resources: ["secrets"], verbs: ["list", "watch"], namespace: own },
  ],
  "flotilla-webhook": [
    tokenReviews,
    {
      group: "admissionregistration.k8s.io",
      resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
      verbs: read,
    },
    {
      group: "admissionregistration.k8s.io",
      resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
      verbs: ["update"],
      names: ["flotilla-sidecar-injector", "flotilla-validator"],
    },
    { group: "", resources: ["nodes"], verbs: read },
    ...leases("flotilla-webhook-configurations"),
    { group: "", resources: ["configmaps"], verbs: read, namespace: own, names: ["istio-sidecar-injector"] },
    { group: "networking.istio.io", resources: ["gateways"], verbs: ["create"], namespace: own },
  ],
  "flotilla-console": [],
  "flotilla-nats": [],
  "flotilla-redis": [],
};

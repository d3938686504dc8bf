/** Kinds of Kubernetes itself, of the Gateway API and of its extensions; nothing publishes them as a table. */
import type { Kind } from "./kind.ts";

interface Group {
  readonly group: string;
  /** Of every kind of the group that names none. */
  readonly versions: readonly string[];
  readonly kinds: readonly Row[];
}

interface Row {
  readonly kind: string;
  readonly plural?: string;
  readonly shortNames?: readonly string[];
  readonly versions?: readonly string[];
  readonly clusterScoped?: true;
  /** Where another group has a kind of this name. */
  readonly name?: string;
}

const groups: readonly Group[] = [
  {
    group: "",
    versions: ["v1"],
    kinds: [
      { kind: "ConfigMap", shortNames: ["cm"] },
      { kind: "Endpoints", plural: "endpoints", shortNames: ["ep"] },
      { kind: "Event", shortNames: ["ev"] },
      { kind: "LimitRange", shortNames: ["limits"] },
      { kind: "Namespace", shortNames: ["ns"], clusterScoped: true },
      { kind: "Node", shortNames: ["no"], clusterScoped: true },
      { kind: "PersistentVolume", shortNames: ["pv"], clusterScoped: true },
      { kind: "PersistentVolumeClaim", shortNames: ["pvc"] },
      { kind: "Pod", shortNames: ["po"] },
      { kind: "PodTemplate" },
      { kind: "ReplicationController", shortNames: ["rc"] },
      { kind: "ResourceQuota", shortNames: ["quota"] },
      { kind: "Secret" },
      { kind: "Service", shortNames: ["svc"] },
      { kind: "ServiceAccount", shortNames: ["sa"] },
    ],
  },
  {
    group: "admissionregistration.k8s.io",
    versions: ["v1"],
    kinds: [
      { kind: "MutatingWebhookConfiguration", clusterScoped: true },
      { kind: "ValidatingAdmissionPolicy", clusterScoped: true },
      { kind: "ValidatingAdmissionPolicyBinding", clusterScoped: true },
      { kind: "ValidatingWebhookConfiguration", clusterScoped: true },
    ],
  },
  {
    group: "apiextensions.k8s.io",
    versions: ["v1"],
    kinds: [{ kind: "CustomResourceDefinition", shortNames: ["crd", "crds"], clusterScoped: true }],
  },
  {
    group: "apps",
    versions: ["v1"],
    kinds: [
      { kind: "DaemonSet", shortNames: ["ds"] },
      { kind: "Deployment", shortNames: ["deploy"] },
      { kind: "ReplicaSet", shortNames: ["rs"] },
      { kind: "StatefulSet", shortNames: ["sts"] },
    ],
  },
  {
    group: "autoscaling",
    versions: ["v2", "v1"],
    kinds: [{ kind: "HorizontalPodAutoscaler", shortNames: ["hpa"] }],
  },
  { group: "batch", versions: ["v1"], kinds: [{ kind: "CronJob", shortNames: ["cj"] }, { kind: "Job" }] },
  {
    group: "certificates.k8s.io",
    versions: ["v1"],
    kinds: [
      { kind: "CertificateSigningRequest", shortNames: ["csr"], clusterScoped: true },
      { kind: "ClusterTrustBundle", versions: ["v1beta1", "v1alpha1"], clusterScoped: true },
    ],
  },
  { group: "coordination.k8s.io", versions: ["v1"], kinds: [{ kind: "Lease" }] },
  { group: "discovery.k8s.io", versions: ["v1"], kinds: [{ kind: "EndpointSlice" }] },
  {
    group: "networking.k8s.io",
    versions: ["v1"],
    kinds: [
      { kind: "Ingress", plural: "ingresses", shortNames: ["ing"] },
      { kind: "IngressClass", plural: "ingressclasses", clusterScoped: true },
      { kind: "NetworkPolicy", plural: "networkpolicies", shortNames: ["netpol"] },
    ],
  },
  { group: "policy", versions: ["v1"], kinds: [{ kind: "PodDisruptionBudget", shortNames: ["pdb"] }] },
  {
    group: "rbac.authorization.k8s.io",
    versions: ["v1"],
    kinds: [
      { kind: "ClusterRole", clusterScoped: true },
      { kind: "ClusterRoleBinding", clusterScoped: true },
      { kind: "Role" },
      { kind: "RoleBinding" },
    ],
  },
  {
    group: "scheduling.k8s.io",
    versions: ["v1"],
    kinds: [{ kind: "PriorityClass", plural: "priorityclasses", shortNames: ["pc"], clusterScoped: true }],
  },
  {
    group: "storage.k8s.io",
    versions: ["v1"],
    kinds: [{ kind: "StorageClass", plural: "storageclasses", shortNames: ["sc"], clusterScoped: true }],
  },
  {
    group: "gateway.networking.k8s.io",
    versions: ["v1"],
    kinds: [
      {
        kind: "BackendTLSPolicy",
        plural: "backendtlspolicies",
        shortNames: ["btlspolicy"],
        versions: ["v1", "v1alpha3"],
      },
      {
        kind: "GatewayClass",
        plural: "gatewayclasses",
        shortNames: ["gc"],
        versions: ["v1", "v1beta1"],
        clusterScoped: true,
      },
      { kind: "Gateway", name: "KubernetesGateway", shortNames: ["gtw"], versions: ["v1", "v1beta1"] },
      { kind: "GRPCRoute", versions: ["v1", "v1alpha2"] },
      { kind: "HTTPRoute", versions: ["v1", "v1beta1"] },
      { kind: "ListenerSet", shortNames: ["lset"] },
      { kind: "ReferenceGrant", shortNames: ["refgrant"], versions: ["v1", "v1beta1"] },
      { kind: "TCPRoute", versions: ["v1", "v1alpha2"] },
      { kind: "TLSRoute", versions: ["v1", "v1alpha3", "v1alpha2"] },
      { kind: "UDPRoute", versions: ["v1", "v1alpha2"] },
    ],
  },
  {
    group: "gateway.networking.x-k8s.io",
    versions: ["v1alpha1"],
    kinds: [
      { kind: "XBackend" },
      { kind: "XBackendTrafficPolicy", plural: "xbackendtrafficpolicies" },
      { kind: "XListenerSet", shortNames: ["lset"] },
      { kind: "XMesh", plural: "xmeshes", clusterScoped: true },
    ],
  },
  {
    group: "inference.networking.k8s.io",
    versions: ["v1"],
    kinds: [{ kind: "InferencePool", shortNames: ["infpool"] }],
  },
  {
    group: "multicluster.x-k8s.io",
    versions: ["v1alpha1"],
    kinds: [
      { kind: "ServiceExport", shortNames: ["svcex"] },
      { kind: "ServiceImport", shortNames: ["svcim"] },
    ],
  },
];

export const kubernetesKinds: readonly Kind[] = groups.flatMap(({ group, versions, kinds }) =>
  kinds.map((row) => toKind(group, { versions, ...row })),
);

function toKind(group: string, row: Row & Required<Pick<Row, "versions">>): Kind {
  const { kind, versions } = row;
  return {
    name: row.name ?? kind,
    kind,
    plural: row.plural ?? `${kind.toLowerCase()}s`,
    shortNames: row.shortNames ?? [],
    group,
    versions,
    storageVersion: versions[0] ?? "",
    namespaced: row.clusterScoped !== true,
  };
}

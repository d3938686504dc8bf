/** Messages on policies that select workloads: Sidecar, AuthorizationPolicy, Telemetry, DestinationRule. */
import type { Message } from "./message.ts";

export const policyMessages = {
  ConflictingSidecarSelectors: {
    code: "IST0110",
    level: "Error",
    template: "Sidecars {sidecars} of namespace {namespace} select the same pod {pod}",
    description: "One of them is in force for the pod, and which one is not defined.",
  },
  MultipleSidecarsWithoutSelector: {
    code: "IST0111",
    level: "Error",
    template: "Sidecars {sidecars} of namespace {namespace} have no selector: a namespace can have one such",
    description: "One of them is in force for the namespace, and which one is not defined.",
  },
  NoMatchingWorkloads: {
    code: "IST0127",
    level: "Warning",
    template: "no workload has the labels {labels}: the policy protects nothing",
    description: "No pod of the mesh that the policy could hold for has the labels of its selector.",
  },
  NoServerVerification: {
    code: "IST0128",
    level: "Warning",
    template: "TLS mode {mode} for host {host} without caCertificates: any server certificate is accepted",
    description: "The connection is encrypted, but the identity of the server is not verified.",
  },
  NoServerVerificationAtPort: {
    code: "IST0129",
    level: "Warning",
    template:
      "TLS mode {mode} for host {host} at port {port} without caCertificates: any server certificate is accepted",
    description: "The connection is encrypted, but the identity of the server is not verified.",
  },
  TelemetryWithoutProvider: {
    code: "IST0157",
    level: "Warning",
    template: "access logging without a provider is ignored: the mesh has no default one",
    description: "Name a provider, or set defaultProviders.accessLogging of MeshConfig.",
  },
  ConflictingTelemetrySelectors: {
    code: "IST0159",
    level: "Error",
    template: "Telemetries {telemetries} of namespace {namespace} select the same pod {pod}",
    description: "One of them is in force for the pod, and which one is not defined.",
  },
  MultipleTelemetriesWithoutSelector: {
    code: "IST0160",
    level: "Error",
    template: "Telemetries {telemetries} of namespace {namespace} have no selector: a namespace can have one such",
    description: "One of them is in force for the namespace, and which one is not defined.",
  },
  IneffectivePolicy: {
    code: "IST0167",
    level: "Warning",
    template: "the object has no effect: {reason}",
    description: "A Sidecar configures sidecars, and in ambient mode there are none.",
  },
  SubsetWithoutPods: {
    code: "IST0173",
    level: "Error",
    template: "no pod is in subset {subset}: requests for it get 503",
    description: "No pod, WorkloadEntry or endpoint of the ServiceEntry has the labels of the subset.",
  },
  UnknownDestinationRuleHost: {
    code: "IST0174",
    level: "Warning",
    template: "no service has host {host}{suggestion}",
    description: "The DestinationRule holds for no service.",
  },
  KeysFetchedFromAnywhere: {
    code: "IST0175",
    level: "Warning",
    template:
      "keys of {count} RequestAuthentications are fetched from any address ({names}): set BLOCKED_CIDRS_IN_JWKS_URIS",
    description:
      "Anybody who may write a RequestAuthentication can make the control plane send requests to addresses within the cluster, unless their ranges are excluded.",
  },
} as const satisfies Readonly<Record<string, Message>>;

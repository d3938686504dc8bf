/** The settings of service-controller. Those of the conversion carry Istio's names. */
import { caSettings, clientCertificateSettings } from "@flotilla/auth/serving";
import { attestSettings, busSettings } from "@flotilla/bus";
import { apiServerSettings } from "@flotilla/kube-api";
import { defaultRegistrySettings } from "@flotilla/registry";
import { addressRange } from "@flotilla/registry/convert";
import {
  defaultPorts,
  duration,
  flag,
  integer,
  list,
  logSettings,
  ownHostSettings,
  port,
  type Setting,
  type SettingOptions,
  type SettingsOf,
  text,
  url,
} from "@flotilla/runtime";

export const settings = {
  ...logSettings,
  healthHost: text({ env: "HEALTH_HOST", default: "0.0.0.0", sentence: "Address of the health and debug pages." }),
  ...ownHostSettings,
  healthPort: port({
    env: "HEALTH_PORT",
    default: defaultPorts.serviceController.health,
    sentence: "Port of the health and debug pages.",
  }),
  ...busSettings,
  ...caSettings,
  ...clientCertificateSettings,
  ...attestSettings,
  configDir: text({
    env: "CONFIG_DIR",
    default: undefined,
    sentence: "Directory with Services, EndpointSlices, Pods, Nodes and Namespaces; followed while running.",
  }),
  registryFile: text({
    env: "REGISTRY_FILE",
    default: undefined,
    sentence:
      "A YAML file with services and endpoints of their own, followed while running; see docs/registry-file.md.",
  }),
  podName: text({
    env: "POD_NAME",
    default: undefined,
    sentence: "Name of this replica among those of which one publishes; made up when not set.",
  }),
  clusterId: text({
    env: "CLUSTER_ID",
    default: defaultRegistrySettings.clusterId,
    sentence: "Name of the cluster whose objects are read.",
  }),
  domain: text({
    env: "DOMAIN_SUFFIX",
    default: defaultRegistrySettings.domain,
    sentence: "DNS suffix of Kubernetes services.",
  }),
  systemNamespace: text({
    env: "POD_NAMESPACE",
    default: defaultRegistrySettings.systemNamespace,
    sentence: "The namespace whose network label holds for endpoints that name no network themselves.",
  }),
  dualStack: flag({
    env: "ISTIO_DUAL_STACK",
    default: defaultRegistrySettings.dualStack,
    sentence: "Endpoints carry all addresses of their pod.",
  }),
  persistentSessionLabel: text({
    env: "PILOT_PERSISTENT_SESSION_LABEL",
    default: defaultRegistrySettings.persistentSessionLabel,
    sentence: "Services with this label keep endpoints that drain.",
  }),
  drainingLabel: text({
    env: "PILOT_DRAINING_LABEL",
    default: defaultRegistrySettings.drainingLabel,
    sentence: "Workloads with this label, and some value, drain: only callers with sessions hear of them.",
  }),
  autoAllocate: flag({
    env: "PILOT_ENABLE_IP_AUTOALLOCATE",
    default: defaultRegistrySettings.autoAllocate,
    sentence:
      "ServiceEntries without an address get one that they keep; otherwise one by hash, for proxies with DNS_AUTO_ALLOCATE.",
  }),
  autoAllocateIpv4: range({
    env: "PILOT_IP_AUTOALLOCATE_IPV4_PREFIX",
    default: defaultRegistrySettings.autoAllocateIpv4,
    family: 4,
    sentence: "The range of the addresses that ServiceEntries get.",
  }),
  autoAllocateIpv6: range({
    env: "PILOT_IP_AUTOALLOCATE_IPV6_PREFIX",
    default: defaultRegistrySettings.autoAllocateIpv6,
    family: 6,
    sentence: "The range of the IPv6 addresses that ServiceEntries get.",
  }),
  servicesSelectWorkloadEntries: flag({
    env: "PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES",
    default: defaultRegistrySettings.servicesSelectWorkloadEntries,
    sentence: "Services of Kubernetes select WorkloadEntries by their labels, as they select pods.",
  }),
  serviceEntriesSelectPods: flag({
    env: "PILOT_ENABLE_SERVICEENTRY_SELECT_PODS",
    default: defaultRegistrySettings.serviceEntriesSelectPods,
    sentence: "ServiceEntries select pods by their labels, as they select WorkloadEntries.",
  }),
  exportedOnly: flag({
    env: "ENABLE_MCS_SERVICE_DISCOVERY",
    default: defaultRegistrySettings.exportedOnly,
    sentence:
      "Services are for callers of their own cluster unless a ServiceExport names them; xds-server needs it too.",
  }),
  clusterSetHosts: flag({
    env: "ENABLE_MCS_HOST",
    default: defaultRegistrySettings.clusterSetHosts,
    sentence: "Services that are imported from the cluster set get a second host of it.",
  }),
  ...apiServerSettings,
  watchedNamespaces: list({
    env: "ISTIO_WATCH_NAMESPACE",
    default: [],
    sentence:
      "Namespaces whose services, endpoints and pods are read of clusters, separated by commas; none means all.",
  }),
  endpointSlices: flag({
    env: "PILOT_USE_ENDPOINT_SLICE",
    default: true,
    sentence: "Endpoints come from EndpointSlices; otherwise from the older Endpoints objects.",
  }),
  kubeSyncTimeoutMs: duration({
    env: "PILOT_REMOTE_CLUSTER_TIMEOUT",
    default: 30_000,
    sentence: "How long the first snapshot waits for clusters; what was published of one that is away stays then.",
  }),
  insecureKubeconfigs: list({
    env: "PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS",
    default: [],
    sentence:
      "What kubeconfigs in Secrets may do that others do not: exec (run programs), clientKey, clientCertificate, tokenFile (name files).",
  }),
  consulUrl: url({
    env: "CONSUL_HTTP_ADDR",
    default: undefined,
    schemes: ["http", "https"],
    sentence: "A Consul agent whose services are read.",
  }),
  consulToken: text({
    env: "CONSUL_HTTP_TOKEN",
    default: undefined,
    sentence: "ACL token towards Consul; it needs node:read and service:read.",
  }),
  consulTokenFile: text({
    env: "CONSUL_HTTP_TOKEN_FILE",
    default: undefined,
    sentence: "File with the ACL token, read anew for each question; it wins over CONSUL_HTTP_TOKEN.",
  }),
  consulCaFile: text({
    env: "CONSUL_CACERT",
    default: undefined,
    sentence: "PEM file of the authorities that the agent's certificate is checked with; those of the system without.",
  }),
  consulDatacenters: list({
    env: "CONSUL_DATACENTERS",
    default: [],
    sentence:
      "Datacenters whose services are read: * for all that the agent knows, also as they come and go; the agent's own when empty.",
  }),
  consulNamespaces: list({
    env: "CONSUL_NAMESPACE",
    default: [],
    sentence: "Namespaces of Consul that are read; empty for a Consul without.",
  }),
  consulPartition: text({ env: "CONSUL_PARTITION", default: "", sentence: "The admin partition that is read." }),
  consulConnections: integer({
    env: "CONSUL_CONNECTIONS",
    default: 150,
    min: 1,
    max: 10_000,
    sentence:
      "Questions that wait at the agent at once; an agent takes 200 connections of a client unless told otherwise.",
  }),
  consulSyncTimeoutMs: duration({
    env: "CONSUL_SYNC_TIMEOUT",
    default: 30_000,
    sentence: "How long the first snapshot waits for Consul; what was published of it before stays then.",
  }),
  consulDatacenterHosts: flag({
    env: "CONSUL_DATACENTER_HOSTS",
    default: defaultRegistrySettings.consulDatacenterHosts,
    sentence: "Services of Consul get a second host that names their datacenter.",
  }),
  consulMeshProxies: flag({
    env: "CONSUL_MESH_PROXIES",
    default: defaultRegistrySettings.consulMeshProxies,
    sentence: "Sidecars and gateways of Consul's own mesh are services too.",
  }),
  auditEveryMs: duration({
    env: "REGISTRY_AUDIT_PERIOD",
    default: 300_000,
    min: 1_000,
    sentence: "How often what is held of API servers and Consul is compared with a fresh list.",
  }),
  auditSettleMs: duration({
    env: "REGISTRY_AUDIT_SETTLE",
    default: 5_000,
    sentence: "A difference that is still the same after this is repaired: no event is under way for that long.",
  }),
  autoRegistration: flag({
    env: "PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION",
    default: true,
    sentence: "Machines that ask for it (AUTO_REGISTER_GROUP) are registered while they are connected.",
  }),
  machineGraceMs: duration({
    env: "PILOT_WORKLOAD_ENTRY_GRACE_PERIOD",
    default: 10_000,
    sentence: "How long a machine stays registered after its last connection to any replica of xds-server.",
  }),
  validateMachines: flag({
    env: "ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY",
    default: defaultRegistrySettings.validateMachines,
    sentence: "A machine is registered only with the proven identity of its group's service account.",
  }),
  machineHealthChecks: flag({
    env: "PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS",
    default: defaultRegistrySettings.machineHealthChecks,
    sentence: "What machines say of their health counts, of registered ones and of those with WORKLOAD_ENTRY.",
  }),
  canonicalExternalServices: flag({
    env: "LABEL_CANONICAL_SERVICES_FOR_MESH_EXTERNAL_SERVICE_ENTRIES",
    default: defaultRegistrySettings.canonicalExternalServices,
    sentence: "ServiceEntries outside of the mesh get canonical-name labels.",
  }),
} as const;

export type Settings = SettingsOf<typeof settings>;

function range({ family, ...options }: SettingOptions<string> & { readonly family: 4 | 6 }): Setting<string> {
  return {
    ...options,
    bounds: `a range of IPv${family} addresses`,
    parse: (value) => {
      addressRange(value, family);
      return value;
    },
  };
}

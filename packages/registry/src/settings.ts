/** Settings of a mesh that the conversion of services and endpoints depends on, by Istio's names where it has them. */
import {
  flag,
  parseSettings,
  type Setting,
  type SettingOptions,
  type SettingsOf,
  text,
} from "@flotilla/runtime/settings";
import { addressRange } from "./convert/index.ts";

/** Settings of the conversion, as service-controller and the conformance runner read them. */
export const registrySettings = {
  clusterId: text({
    env: "CLUSTER_ID",
    default: "Kubernetes",
    sentence: "Name of the cluster whose objects are read.",
  }),
  domain: text({
    env: "DOMAIN_SUFFIX",
    default: "cluster.local",
    sentence: "DNS suffix of Kubernetes services.",
  }),
  systemNamespace: text({
    env: "POD_NAMESPACE",
    default: "istio-system",
    sentence: "The namespace whose network label holds for endpoints that name no network themselves.",
  }),
  ambient: flag({
    env: "PILOT_ENABLE_AMBIENT",
    default: false,
    sentence: "Workloads are published one by one, for ztunnels and waypoints; xds-server needs it too.",
  }),
  dualStack: flag({
    env: "ISTIO_DUAL_STACK",
    default: false,
    sentence: "Endpoints carry all addresses of their pod.",
  }),
  persistentSessionLabel: text({
    env: "PILOT_PERSISTENT_SESSION_LABEL",
    default: "istio.io/persistent-session",
    sentence: "Services with this label keep endpoints that drain.",
  }),
  drainingLabel: text({
    env: "PILOT_DRAINING_LABEL",
    default: "istio.io/draining",
    sentence: "Workloads with this label, and some value, drain: only callers with sessions get their endpoints.",
  }),
  autoAllocate: flag({
    env: "PILOT_ENABLE_IP_AUTOALLOCATE",
    default: true,
    sentence:
      "ServiceEntries without an address get one that they keep; otherwise one by hash, for proxies with DNS_AUTO_ALLOCATE.",
  }),
  autoAllocateIpv4: range({
    env: "PILOT_IP_AUTOALLOCATE_IPV4_PREFIX",
    default: "240.240.0.0/16",
    family: 4,
    sentence: "The range of the addresses that ServiceEntries get.",
  }),
  autoAllocateIpv6: range({
    env: "PILOT_IP_AUTOALLOCATE_IPV6_PREFIX",
    default: "2001:2::/48",
    family: 6,
    sentence: "The range of the IPv6 addresses that ServiceEntries get.",
  }),
  servicesSelectWorkloadEntries: flag({
    env: "PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES",
    default: true,
    sentence: "Services of Kubernetes select WorkloadEntries by their labels, as they select pods.",
  }),
  serviceEntriesSelectPods: flag({
    env: "PILOT_ENABLE_SERVICEENTRY_SELECT_PODS",
    default: true,
    sentence: "ServiceEntries select pods by their labels, as they select WorkloadEntries.",
  }),
  exportedOnly: flag({
    env: "ENABLE_MCS_SERVICE_DISCOVERY",
    default: false,
    sentence:
      "Services are for callers of their own cluster unless a ServiceExport names them; xds-server needs it too.",
  }),
  clusterSetHosts: flag({
    env: "ENABLE_MCS_HOST",
    default: false,
    sentence: "Services that are imported from the cluster set get a second host of it.",
  }),
  canonicalExternalServices: flag({
    env: "LABEL_CANONICAL_SERVICES_FOR_MESH_EXTERNAL_SERVICE_ENTRIES",
    default: false,
    sentence: "ServiceEntries outside of the mesh get canonical-name labels.",
  }),
  consulDatacenterHosts: flag({
    env: "CONSUL_DATACENTER_HOSTS",
    default: true,
    sentence: "Services of Consul get a second host that names their datacenter.",
  }),
  consulMeshProxies: flag({
    env: "CONSUL_MESH_PROXIES",
    default: false,
    sentence: "Sidecars and gateways of Consul's own mesh are services too.",
  }),
  validateMachines: flag({
    env: "ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY",
    default: true,
    sentence: "A machine is registered only with the proven identity of its group's service account.",
  }),
  machineHealthChecks: flag({
    env: "PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS",
    default: true,
    sentence: "Health reports of machines count, of registered ones and of those with WORKLOAD_ENTRY.",
  }),
} as const;

/** Values of `registrySettings`. */
export type RegistrySettings = SettingsOf<typeof registrySettings>;

/** @throws RuntimeError SETTINGS_INVALID that lists all wrong ones */
export function parseRegistrySettings(env: Readonly<Record<string, string | undefined>>): RegistrySettings {
  return parseSettings(registrySettings, env);
}

/** The settings of an empty environment. */
export const defaultRegistrySettings = parseRegistrySettings({});

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

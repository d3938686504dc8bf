/** What of a mesh's settings the conversion of services and endpoints depends on. */

export interface RegistrySettings {
  /** Name of the cluster whose objects are read; shards are named after it. */
  readonly clusterId: string;
  /** DNS suffix of Kubernetes services. */
  readonly domain: string;
  /** The namespace whose network label holds for endpoints that say nothing themselves. */
  readonly systemNamespace: string;
  /** Endpoints carry all addresses of their pod. */
  readonly dualStack: boolean;
  /** Services with this label keep endpoints that drain. */
  readonly persistentSessionLabel: string;
  /** Workloads with this label, and some value, drain: they are left out, or told so to callers with sessions. Empty: none. */
  readonly drainingLabel: string;
  /**
   * ServiceEntries without address and without one in their status get one of the two ranges and keep it; without, they get
   * one by hash for proxies that ask for it (DNS_AUTO_ALLOCATE).
   */
  readonly autoAllocate: boolean;
  readonly autoAllocateIpv4: string;
  readonly autoAllocateIpv6: string;
  /** Services of Kubernetes select WorkloadEntries too. */
  readonly servicesSelectWorkloadEntries: boolean;
  /** ServiceEntries select pods too. */
  readonly serviceEntriesSelectPods: boolean;
  /** Endpoints are for callers of their own cluster unless a ServiceExport of their cluster names the service. */
  readonly exportedOnly: boolean;
  /** Services that are imported from the cluster set get a second host of it. */
  readonly clusterSetHosts: boolean;
  /** ServiceEntries outside of the mesh get canonical-name labels. */
  readonly canonicalExternalServices: boolean;
  /** Services of Consul get a second host that names their datacenter. */
  readonly consulDatacenterHosts: boolean;
  /** Sidecars and gateways of Consul's own mesh are services too. */
  readonly consulMeshProxies: boolean;
  /** A machine is registered only with the proven identity of its group's service account. */
  readonly validateMachines: boolean;
  /** What machines say of their health counts. */
  readonly machineHealthChecks: boolean;
}

export const defaultRegistrySettings: RegistrySettings = {
  clusterId: "Kubernetes",
  domain: "cluster.local",
  systemNamespace: "istio-system",
  dualStack: false,
  persistentSessionLabel: "istio.io/persistent-session",
  drainingLabel: "istio.io/draining",
  autoAllocate: true,
  autoAllocateIpv4: "240.240.0.0/16",
  autoAllocateIpv6: "2001:2::/48",
  servicesSelectWorkloadEntries: true,
  serviceEntriesSelectPods: true,
  exportedOnly: false,
  clusterSetHosts: false,
  canonicalExternalServices: false,
  consulDatacenterHosts: true,
  consulMeshProxies: false,
  validateMachines: true,
  machineHealthChecks: true,
};

/** Istio's names of the settings above, as they stand in the environment of its control plane. */
export function registrySettingsFromEnv(env: Readonly<Record<string, string | undefined>>): RegistrySettings {
  const flag = (name: string, otherwise: boolean) =>
    // own key: one of our settings
    env[name] === undefined || env[name] === "" ? otherwise : /^(true|1|t)$/i.test(env[name]);
  // own key: one of our settings
  const text = (name: string, otherwise: string) => env[name] || otherwise;
  const base = defaultRegistrySettings;
  return {
    clusterId: text("CLUSTER_ID", base.clusterId),
    domain: text("DOMAIN_SUFFIX", base.domain),
    systemNamespace: text("POD_NAMESPACE", base.systemNamespace),
    dualStack: flag("ISTIO_DUAL_STACK", base.dualStack),
    drainingLabel: env["PILOT_DRAINING_LABEL"] ?? base.drainingLabel,
    persistentSessionLabel: text("PILOT_PERSISTENT_SESSION_LABEL", base.persistentSessionLabel),
    autoAllocate: flag("PILOT_ENABLE_IP_AUTOALLOCATE", base.autoAllocate),
    autoAllocateIpv4: text("PILOT_IP_AUTOALLOCATE_IPV4_PREFIX", base.autoAllocateIpv4),
    autoAllocateIpv6: text("PILOT_IP_AUTOALLOCATE_IPV6_PREFIX", base.autoAllocateIpv6),
    servicesSelectWorkloadEntries: flag("PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES", base.servicesSelectWorkloadEntries),
    serviceEntriesSelectPods: flag("PILOT_ENABLE_SERVICEENTRY_SELECT_PODS", base.serviceEntriesSelectPods),
    exportedOnly: flag("ENABLE_MCS_SERVICE_DISCOVERY", base.exportedOnly),
    clusterSetHosts: flag("ENABLE_MCS_HOST", base.clusterSetHosts),
    canonicalExternalServices: flag(
      "LABEL_CANONICAL_SERVICES_FOR_MESH_EXTERNAL_SERVICE_ENTRIES",
      base.canonicalExternalServices,
    ),
    consulDatacenterHosts: flag("CONSUL_DATACENTER_HOSTS", base.consulDatacenterHosts),
    consulMeshProxies: flag("CONSUL_MESH_PROXIES", base.consulMeshProxies),
    validateMachines: flag("ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY", base.validateMachines),
    machineHealthChecks: flag("PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS", base.machineHealthChecks),
  };
}

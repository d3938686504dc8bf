/** The registries that the settings ask for. */
import { readFile } from "node:fs/promises";
import { clusterOfSecrets, type KubeConfig } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";
import type { RegistryMetrics } from "../metrics.ts";
import type { Settings } from "../settings.ts";
import type { MultiClusterApi } from "./cluster-connection.ts";
import { consulSource } from "./consul-source.ts";
import type { InputSource } from "./input-source.ts";
import { type KubernetesSource, kubernetesSource } from "./kubernetes-source.ts";

/** None when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export async function kubernetes(
  cluster: KubeConfig | undefined,
  settings: Settings,
  { clusters }: RegistryMetrics,
  log: Logger,
  onProblems: () => void,
): Promise<readonly KubernetesSource[]> {
  if (cluster === undefined || !isRead(settings, "Kubernetes")) return [];
  const { clusterId, systemNamespace, kubeSyncTimeoutMs: syncTimeoutMs } = settings;
  const common = { log, nowMs: Date.now, random: Math.random, onProblems };
  const onSecret = (event: "add" | "update" | "delete") => clusters.secretEvents.add(1, { event });
  const onSyncTimeout = (one: string) => clusters.syncTimeouts.add(1, { cluster: one });
  const onSyncError = (one: string) => clusters.syncErrors.add(1, { cluster: one });
  const onEvent = (type: string, event: "add" | "update" | "delete") => clusters.objectEvents.add(1, { type, event });
  const allowedOptions = new Set(settings.insecureKubeconfigs);
  const { exportedOnly, clusterSetHosts, discoverGateways } = settings;
  const sets = { exportedOnly, clusterSetHosts, discoverGateways, multiClusterApi: multiClusterApi(settings) };
  const callbacks = { ...common, ...sets, onSecret, onSyncTimeout, onSyncError, onEvent, allowedOptions };
  const { kubeconfigDirectory } = settings;
  const secretsConfig = await clusterOfSecrets(settings);
  const remotes = { ...(kubeconfigDirectory && { kubeconfigDirectory }), ...(secretsConfig && { secretsConfig }) };
  const readsEntries = settings.crossClusterEntries && settings.servicesSelectWorkloadEntries;
  const entries = readsEntries ? { workloadEntriesOf: settings.revision } : {};
  const read = {
    ...entries,
    endpointsObjects: !settings.endpointSlices,
    watchedNamespaces: settings.watchedNamespaces,
  };
  return [
    kubernetesSource({ config: cluster, clusterId, systemNamespace, syncTimeoutMs, ...remotes, ...read, ...callbacks }),
  ];
}

/** All that are configured, unless some are named. */
function isRead({ registries }: Settings, registry: Settings["registries"][number]): boolean {
  return registries.length === 0 || registries.includes(registry);
}

export function multiClusterApi({ multiClusterGroup: group, multiClusterVersion: version }: Settings): MultiClusterApi {
  return { group, version };
}

export async function consul(settings: Settings, log: Logger, onProblems: () => void): Promise<readonly InputSource[]> {
  const { consulUrl: url, consulCaFile } = settings;
  if (url === undefined || !isRead(settings, "Consul")) return [];
  const source = consulSource({
    url,
    token: settings.consulToken,
    tokenFile: settings.consulTokenFile,
    certificateAuthorities: consulCaFile === undefined ? undefined : await readFile(consulCaFile, "utf8"),
    datacenters: settings.consulDatacenters,
    namespaces: settings.consulNamespaces,
    partition: settings.consulPartition,
    connections: settings.consulConnections,
    syncTimeoutMs: settings.consulSyncTimeoutMs,
    log,
    nowMs: Date.now,
    random: Math.random,
    onProblems,
  });
  return [source];
}

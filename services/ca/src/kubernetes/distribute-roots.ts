/** The roots in every namespace, and revocation lists where there are some: one replica of the cluster writes them. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type ClusterWork, inControlledClusters, type KubeApi } from "@flotilla/kube-api";
import { duties, Leadership, leaseOfCluster } from "@flotilla/leadership";
import type { Logger } from "@flotilla/runtime";
import type { ActiveMaterial } from "../rotation/active-material.ts";
import type { Settings } from "../settings.ts";
import { keepClusterTrustBundle } from "./cluster-trust-bundle.ts";
import { RootConfigMaps } from "./root-config-maps.ts";

export interface DistributeOptions {
  readonly settings: Settings;
  readonly api: KubeApi;
  readonly active: ActiveMaterial;
  /** Of this program: the newest one that runs has the duty. */
  readonly version: string;
  readonly log: Logger;
}

/** Distributes roots to remote clusters (EXTERNAL_ISTIOD), with one Lease in each. Runs until `stop` fires. */
export function distributeRootsElsewhere(options: DistributeOptions, stop: AbortSignal): Promise<void> {
  const { settings, api, log } = options;
  const work: ClusterWork = (cluster, end) =>
    distributeRoots({ ...options, api: cluster.api, log: log.child({ cluster: cluster.name }) }, end);
  return inControlledClusters(api, { settings, log, random: Math.random }, work, stop);
}

/** Runs until `stop` fires. */
export async function distributeRoots(options: DistributeOptions, stop: AbortSignal): Promise<void> {
  const { settings, api, active, version, log } = options;
  const { namespace, revision, electsLeaders } = settings;
  const holder = `${hostname()}-${randomUUID()}`;
  const candidate = { holder, version, isDefaultRevision: revision === "default" };
  const lead = (duty: string, work: (end: AbortSignal) => Promise<void>): Promise<void> => {
    const lease = leaseOfCluster({ api, namespace, name: duty, candidate, electsLeaders });
    return new Leadership({ lease, duty, log }).run(work, stop);
  };
  const maps = configMaps(options);
  const rootsPem = () => active.current?.rootsPem;
  await Promise.all([
    lead(duties.namespaces, async (end) => void (await Promise.all(maps.map((map) => map.run(end))))),
    settings.clusterTrustBundle &&
      lead(duties.trustBundle, (end) => keepClusterTrustBundle({ api, rootsPem, log }, end)),
  ]);
}

function configMaps({ settings, api, active, log }: DistributeOptions): readonly RootConfigMaps[] {
  const common = { api, log, random: Math.random };
  const roots = () => active.current && { "root-cert.pem": active.current.rootsPem };
  const lists = () => (active.current?.crlPem ? { "ca-crl.pem": active.current.crlPem } : undefined);
  return [
    new RootConfigMaps({ ...common, name: settings.rootConfigMap, data: roots }),
    ...(settings.distributeCrl ? [new RootConfigMaps({ ...common, name: settings.crlConfigMap, data: lists })] : []),
  ];
}

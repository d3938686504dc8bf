/** The registries and other inputs that the settings ask for. */
import type { Bus } from "@flotilla/bus";
import { clusterOf, type KubeConfig } from "@flotilla/kube-api";
import { parseShard } from "@flotilla/model";
import { type AuditedSource, auditedSource } from "../audit/audited-source.ts";
import type { RegistryMetrics } from "../metrics.ts";
import type { RegistryService } from "../settings.ts";
import type { ClusterStatus } from "../watch/cluster-status.ts";
import { declareClusterGauges } from "../watch/cluster-status.ts";
import { configEvents } from "../watch/config-events.ts";
import { objectDirectory, registryFile } from "../watch/file-sources.ts";
import type { InputSource } from "../watch/input-source.ts";
import type { KubernetesSource } from "../watch/kubernetes-source.ts";
import { consul, kubernetes } from "../watch/open-registries.ts";
import { registeredWorkloadSource } from "../watch/registered-workload-source.ts";
import type { ProblemReports } from "./problem-reports.ts";

export interface InputOptions {
  readonly bus: Bus;
  readonly problems: ProblemReports;
  readonly metrics: RegistryMetrics;
}

export interface Inputs extends AsyncDisposable {
  readonly sources: readonly InputSource[];
  /** The own cluster, if there is one. */
  readonly cluster: KubeConfig | undefined;
  readonly kubernetes: readonly KubernetesSource[];
  /** Those of Kubernetes and Consul, which are compared with fresh lists. */
  readonly audited: readonly (AuditedSource | InputSource)[];
  clusters(): readonly ClusterStatus[];
}

/** @throws KubeError KUBE_CONFIG */
export async function openInputs(service: RegistryService, options: InputOptions): Promise<Inputs> {
  const { settings, log, failures } = service;
  const { bus, problems, metrics } = options;
  const onProblems = problems.note;
  const cluster = await clusterOf(settings);
  const ofKubernetes = await kubernetes(cluster, settings, metrics, log, onProblems);
  const clusters = () => ofKubernetes.flatMap((source) => source.clusters());
  declareClusterGauges(service.metrics, clusters, Date.now);
  const audit = auditOptions(service, metrics);
  const registries = [...ofKubernetes, ...(await consul(settings, log, onProblems))];
  const audited = registries.map((source) => auditedSource(source, audit));
  const { configDir, registryFile: file, autoRegistration, machineGraceMs: graceMs } = settings;
  const sources: readonly InputSource[] = [
    ...(configDir === undefined ? [] : [objectDirectory({ path: configDir, onProblems })]),
    ...(file === undefined ? [] : [registryFile({ path: file, onProblems })]),
    ...audited,
    ...(autoRegistration
      ? [registeredWorkloadSource({ bus, graceMs, log, failures, nowMs: Date.now, counters: metrics.machines })]
      : []),
    configEvents({ bus, nowMs: Date.now }),
  ];
  problems.add(...sources);
  const owned = new AsyncDisposableStack();
  for (const source of sources) owned.use(source);
  const dispose = () => owned.disposeAsync();
  return { sources, cluster, kubernetes: ofKubernetes, audited, clusters, [Symbol.asyncDispose]: dispose };
}

function auditOptions({ settings, log }: RegistryService, { repaired }: RegistryMetrics) {
  const { clusterId: ownCluster, auditEveryMs: everyMs, auditSettleMs: settleMs } = settings;
  const onRepair = (shard: string, count: number) => repaired.add(count, { registry: parseShard(shard).registry });
  return { ownCluster, everyMs, settleMs, log, nowMs: Date.now, onRepair };
}

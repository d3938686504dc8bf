/**
 * Writes a ServiceExport for each service of each cluster (ENABLE_MCS_AUTO_EXPORT), once in the life of the service: who removes
 * one keeps the service to its cluster. Kubernetes removes it with its Service. As istiod does.
 */
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import { type Logger, sharedDelay } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import type { MultiClusterApi } from "../watch/cluster-connection.ts";

export interface ServiceExporterOptions {
  /** By cluster: the Services that callers of other clusters may see. */
  readonly services: () => ReadonlyMap<string, readonly KubeObject[]>;
  /** By cluster, of those that can be asked. */
  readonly apis: () => ReadonlyMap<string, KubeApi>;
  readonly multiClusterApi: MultiClusterApi;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly lookMs?: number;
  /** After an API server refused, did not serve the kind or did not answer. */
  readonly againMs?: number;
}

interface ClusterState {
  /** `namespace/name/uid` of services that have or had one. */
  readonly exported: Set<string>;
  againAtMs: number;
  problem: string | undefined;
}

export class ServiceExporter {
  readonly name = "exports";
  readonly #options: ServiceExporterOptions;
  readonly #clusters = new Map<string, ClusterState>();

  constructor(options: ServiceExporterOptions) {
    this.#options = options;
  }

  problems(): readonly SourceProblem[] {
    return [...this.#clusters].flatMap(([cluster, { problem }]) =>
      problem === undefined ? [] : [{ file: "", line: 0, object: `ServiceExports of ${cluster}`, reason: problem }],
    );
  }

  async run(stop: AbortSignal): Promise<void> {
    const { services, apis, lookMs = 1_000, nowMs } = this.#options;
    while (!stop.aborted) {
      const reachable = apis();
      for (const cluster of this.#clusters.keys()) if (!reachable.has(cluster)) this.#clusters.delete(cluster);
      const wanted = services();
      await Promise.all(
        Array.from(reachable, ([cluster, api]) => {
          const state = this.#clusters.get(cluster) ?? { exported: new Set(), againAtMs: 0, problem: undefined };
          this.#clusters.set(cluster, state);
          if (nowMs() < state.againAtMs) return undefined;
          return this.#export(cluster, api, wanted.get(cluster) ?? [], state, stop);
        }),
      );
      await sharedDelay(lookMs, stop);
    }
  }

  async #export(
    cluster: string,
    api: KubeApi,
    services: readonly KubeObject[],
    state: ClusterState,
    stop: AbortSignal,
  ): Promise<void> {
    const { log, againMs = 30_000, nowMs } = this.#options;
    const present = new Set(services.map(textOf));
    for (const text of state.exported) if (!present.has(text)) state.exported.delete(text);
    let problem: string | undefined;
    for (const service of services) {
      const text = textOf(service);
      if (stop.aborted) return;
      if (state.exported.has(text)) continue;
      try {
        await this.#create(api, service);
        state.exported.add(text);
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        problem = error.status === 404 ? notFound(service, error) : error.message;
        // An error for one service may not apply to the next, unless the API server is unreachable.
        if (error.code === "KUBE_AWAY") break;
      }
    }
    if (problem !== undefined) state.againAtMs = nowMs() + againMs;
    if (problem !== state.problem && problem !== undefined)
      log.warn("service not exported", { cluster, reason: problem });
    state.problem = problem;
  }

  async #create(api: KubeApi, service: KubeObject): Promise<void> {
    const { group, version } = this.#options.multiClusterApi;
    const { name, namespace = "", uid = "" } = service.metadata;
    try {
      await api.create(`/apis/${group}/${version}/namespaces/${namespace}/serviceexports`, {
        apiVersion: `${group}/${version}`,
        kind: "ServiceExport",
        metadata: { name, namespace, ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid }] },
      });
    } catch (error) {
      // Somebody wrote it already.
      if (error instanceof KubeError && error.code === "KUBE_CONFLICT") return;
      throw error;
    }
  }
}

function notFound({ metadata: { name, namespace = "" } }: KubeObject, error: KubeError): string {
  return `Service/${namespace}/${name}: the API server serves no ServiceExports, or the namespace is gone: ${error.message}`;
}

function textOf({ metadata: { name, namespace = "", uid = "" } }: KubeObject): string {
  return `${namespace}/${name}/${uid}`;
}

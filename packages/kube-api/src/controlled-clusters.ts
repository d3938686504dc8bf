/**
 * Other clusters that this control plane runs (EXTERNAL_ISTIOD): those whose system namespace names the own cluster, or any, in the annotation
 * `topology.istio.io/controlPlaneClusters`. Work in such a cluster begins and ends with the annotation, and with its kubeconfig.
 */
import type { Logger } from "@flotilla/runtime";
import { type KubeApi, type KubeObject, openKubeApi } from "./kube-api.ts";
import type { KubeConfig } from "./kube-config.ts";
import { follow } from "./mirror.ts";
import { followNamedClusters, type NamedClusterOptions, type RemoteClusters } from "./remote-clusters.ts";

/** Names of clusters separated by commas, or `*`. */
const controlPlaneClusters = "topology.istio.io/controlPlaneClusters";

export interface ControlledCluster {
  readonly name: string;
  /** Closed when the work has ended. */
  readonly api: KubeApi;
}

/** Runs until `end` fires. */
export type ClusterWork = (cluster: ControlledCluster, end: AbortSignal) => Promise<void>;

/**
 * Runs `work` in each of them until `stop` fires; returns at once if EXTERNAL_ISTIOD is off.
 * @param own the own cluster
 * @throws what `work` throws, KubeError KUBE_CONFIG
 */
export async function inControlledClusters(
  own: KubeApi,
  options: NamedClusterOptions,
  work: ClusterWork,
  stop: AbortSignal,
): Promise<void> {
  if (!options.settings.externalControlPlane) return;
  await using controlled = new Controlled(options, work, stop);
  for await (const named of followNamedClusters(own, options, controlled.ended)) controlled.apply(named);
}

interface Run {
  readonly kubeconfig: string;
  readonly end: AbortController;
}

class Controlled implements AsyncDisposable {
  readonly ended: AbortSignal;
  readonly #options: NamedClusterOptions;
  readonly #work: ClusterWork;
  readonly #failed = new AbortController();
  readonly #runs = new Map<string, Run>();
  readonly #working = new Set<Promise<void>>();

  constructor(options: NamedClusterOptions, work: ClusterWork, stop: AbortSignal) {
    this.#options = options;
    this.#work = work;
    this.ended = AbortSignal.any([stop, this.#failed.signal]);
  }

  /** A cluster whose new kubeconfig is unusable keeps the former one. */
  apply({ clusters }: RemoteClusters): void {
    for (const [name, run] of this.#runs) {
      const now = clusters.get(name);
      if (now?.kubeconfig === run.kubeconfig || (now !== undefined && now.config === undefined)) continue;
      this.#runs.delete(name);
      run.end.abort();
    }
    for (const { cluster, config, kubeconfig } of clusters.values()) {
      if (config === undefined || this.#runs.has(cluster)) continue;
      const end = new AbortController();
      this.#runs.set(cluster, { kubeconfig, end });
      const done: Promise<void> = this.#run(cluster, config, AbortSignal.any([this.ended, end.signal]))
        .catch((error: unknown) => this.#failed.abort(error))
        .finally(() => this.#working.delete(done));
      this.#working.add(done);
    }
  }

  /** @throws what the work threw */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { end } of this.#runs.values()) end.abort();
    await Promise.all(this.#working);
    this.#failed.signal.throwIfAborted();
  }

  async #run(name: string, config: KubeConfig, end: AbortSignal): Promise<void> {
    const { open = openKubeApi, settings, log, random } = this.#options;
    const { namespace: systemNamespace, clusterId: ownCluster } = settings;
    using api = open(config);
    const path = `/api/v1/namespaces?fieldSelector=metadata.name%3D${encodeURIComponent(systemNamespace)}`;
    const state = new Switched((stop) => this.#work({ name, api }, stop), end);
    try {
      for await (const namespaces of follow<KubeObject>(api, path, { log, random }, state.ended)) {
        const system = namespaces.find(({ metadata }) => metadata.name === systemNamespace);
        const isOn = isNamed(system?.metadata.annotations?.[controlPlaneClusters], ownCluster);
        if (await state.set(isOn)) note(log, name, isOn);
      }
    } finally {
      await state.set(false);
    }
    state.failed.throwIfAborted();
  }
}

function note(log: Logger, cluster: string, isOn: boolean): void {
  if (isOn) log.info("remote cluster controlled", { cluster });
  else log.info("remote cluster no longer controlled", { cluster });
}

/** Work that is switched on and off. */
class Switched {
  readonly ended: AbortSignal;
  readonly #failed = new AbortController();
  readonly #work: (stop: AbortSignal) => Promise<void>;
  #current: { readonly end: AbortController; readonly done: Promise<void> } | undefined;

  constructor(work: (stop: AbortSignal) => Promise<void>, stop: AbortSignal) {
    this.#work = work;
    this.ended = AbortSignal.any([stop, this.#failed.signal]);
  }

  /** Aborted with the error that the work threw. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** Resolves to true if the state changed. */
  async set(isOn: boolean): Promise<boolean> {
    const current = this.#current;
    if (isOn === (current !== undefined)) return false;
    if (current === undefined) {
      const end = new AbortController();
      const done = this.#work(AbortSignal.any([this.ended, end.signal]));
      this.#current = { end, done: done.catch((error: unknown) => this.#failed.abort(error)) };
    } else {
      this.#current = undefined;
      current.end.abort();
      await current.done;
    }
    return true;
  }
}

/** True where the annotation names the cluster. */
function isNamed(annotation: string | undefined, cluster: string): boolean {
  return annotation?.split(",").some((name) => name === "*" || name === cluster) ?? false;
}

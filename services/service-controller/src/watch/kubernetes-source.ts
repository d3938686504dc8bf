/**
 * Services, EndpointSlices, Pods, Nodes and Namespaces of API servers: our own cluster's, and those whose kubeconfigs lie in
 * Secrets labelled `istio/multiCluster=true`, a cluster a data key, or in a directory. They may come, change and go while running.
 */
import { type KubeApi, type KubeConfig, openKubeApi, type RemoteCluster } from "@flotilla/kube-api";
import { parseShard } from "@flotilla/model";
import type { ObjectChange } from "@flotilla/registry";
import type { Logger } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import {
  type FollowedKind,
  gatewayApiGateways,
  inNamespace,
  kindsWithEndpoints,
  type MultiClusterApi,
  multiClusterKind,
  usualKinds,
  usualMultiClusterApi,
  workloadEntries,
} from "./cluster-connection.ts";
import { ClusterFollower } from "./cluster-follower.ts";
import type { ClusterObjectsOptions } from "./cluster-objects.ts";
import type { ClusterStatus } from "./cluster-status.ts";
import { GatheredGroups } from "./gathered-groups.ts";
import type { InputGroup, InputSource, ShardListing } from "./input-source.ts";
import { RemoteFiles, RemoteSecrets, type RemoteSource } from "./remote-secrets.ts";

export interface KubernetesSourceOptions {
  readonly config: KubeConfig;
  readonly clusterId: string;
  /** Where the Secrets of other clusters lie. */
  readonly systemNamespace: string;
  /** The cluster that has these Secrets, where it is not the own one. */
  readonly secretsConfig?: KubeConfig;
  /** Of kubeconfigs, in place of Secrets. */
  readonly kubeconfigDirectory?: string;
  /** Options that their kubeconfigs may use although they are refused by default. */
  readonly allowedOptions?: ReadonlySet<string>;
  /** ServiceExports are read too. */
  readonly exportedOnly?: boolean;
  /** ServiceImports are read too. */
  readonly clusterSetHosts?: boolean;
  readonly multiClusterApi?: MultiClusterApi;
  /** Gateways of other clusters are read too. */
  readonly discoverGateways?: boolean;
  /** WorkloadEntries of other clusters are read too: those without a label of another revision than this one. */
  readonly workloadEntriesOf?: string;
  /** Endpoints objects are read in place of EndpointSlices. */
  readonly endpointsObjects?: boolean;
  /** Services, endpoints and pods of these namespaces only; empty: of all. */
  readonly watchedNamespaces?: readonly string[];
  /** The first group does not wait longer. */
  readonly syncTimeoutMs: number;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly open?: (config: KubeConfig) => KubeApi;
  readonly onProblems: () => void;
  readonly onSecret?: (event: "add" | "update" | "delete") => void;
  readonly onSyncTimeout?: (cluster: string) => void;
  /** It cannot be followed, for another reason than before. */
  readonly onSyncError?: ((cluster: string) => void) | undefined;
  readonly onEvent?: ClusterObjectsOptions["onEvent"];
}

export interface KubernetesSource extends InputSource {
  clusters(): readonly ClusterStatus[];
  /** Shards that were read and cannot be followed now: other replicas may have newer state of them. */
  old(): readonly string[];
  /** Clusters that were read, with the connections in force. */
  apis(): ReadonlyMap<string, KubeApi>;
}

export function kubernetesSource(options: KubernetesSourceOptions): KubernetesSource {
  return new Clusters(options);
}

/** Well below the 50 ms in which a ztunnel has to know a new pod. */
const podGapMs = 10;

class Clusters implements KubernetesSource {
  readonly name = "kubernetes";
  readonly #options: KubernetesSourceOptions;
  readonly #api: KubeApi;
  readonly #gathered: GatheredGroups;
  readonly #followers = new Map<string, ClusterFollower>();
  /** Of clusters that are left; their connections are closing. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #secrets: RemoteSource;
  #remotes: ReadonlyMap<string, RemoteCluster> = new Map();
  /** Those that the first snapshot did not wait for. */
  #late: ReadonlySet<string> = new Set();
  #secretProblems: readonly SourceProblem[] = [];

  constructor(options: KubernetesSourceOptions) {
    this.#options = options;
    this.#api = (options.open ?? openKubeApi)(options.secretsConfig ?? options.config);
    const { syncTimeoutMs, nowMs, systemNamespace: namespace, random, onSecret, onProblems: onState } = options;
    const callbacks = { onSecret, onChange: () => this.#applySecrets(), onState };
    this.#secrets =
      options.kubeconfigDirectory === undefined
        ? new RemoteSecrets({ api: this.#api, namespace, random, ...callbacks })
        : new RemoteFiles(options.kubeconfigDirectory, callbacks);
    this.#gathered = new GatheredGroups({
      syncTimeoutMs,
      nowMs,
      follow: (stop) => this.#secrets.follow(stop),
      unread: () => this.#unread(),
      old: () => this.old(),
      podGapMs,
      onLate: (unread) => this.#noteLate(unread),
    });
  }

  async *groups(stop: AbortSignal): AsyncGenerator<InputGroup, void, undefined> {
    const { clusterId, config } = this.#options;
    this.#follow(clusterId).connect(config);
    try {
      yield* this.#gathered.groups(stop);
    } finally {
      await Promise.all(Array.from(this.#followers.values(), (follower) => follower[Symbol.asyncDispose]()));
      await Promise.all(this.#leaving);
    }
  }

  old(): readonly string[] {
    const away = [...this.#followers.values()].filter((one) => one.isComplete && one.away !== undefined);
    return away.flatMap(({ cluster }) => shardsOf(cluster));
  }

  apis(): ReadonlyMap<string, KubeApi> {
    return new Map([...this.#followers].flatMap(([cluster, { api }]) => (api === undefined ? [] : [[cluster, api]])));
  }

  list(): Promise<readonly ShardListing[]> {
    const readable = [...this.#followers.values()].filter(({ away, isComplete }) => away === undefined && isComplete);
    return Promise.all(
      readable.map(async (follower) => ({
        shard: `Kubernetes/${follower.cluster}`,
        inputs: (await follower.list()).filter((change) => this.#isWatched(change)),
      })),
    );
  }

  problems(): readonly SourceProblem[] {
    const { away, name: object } = this.#secrets;
    return [
      ...(away === undefined ? [] : [{ file: "", line: 0, object, reason: away }]),
      ...this.#secretProblems,
      ...[...this.#followers.values()].flatMap((follower) => follower.problems()),
    ];
  }

  clusters(): readonly ClusterStatus[] {
    const { clusterId } = this.#options;
    return [...this.#followers].map(([id, { away, isComplete }]) => ({
      id,
      type: id === clusterId ? "local" : "remote",
      secretName: this.#remotes.get(id)?.secret.replace(/^Secret\//, "") ?? "",
      syncStatus: isComplete ? "synced" : this.#late.has(id) ? "timeout" : "syncing",
      away,
    }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#api[Symbol.dispose]();
  }

  #isWatched(change: ObjectChange): boolean {
    const { watchedNamespaces = [] } = this.#options;
    const namespace = change.op === "put" ? (change.object.metadata.namespace ?? "") : change.key.namespace;
    return namespace === "" || watchedNamespaces.length === 0 || watchedNamespaces.includes(namespace);
  }

  #follow(cluster: string): ClusterFollower {
    const { log, nowMs, random, open, watchedNamespaces = [], onProblems, onEvent } = this.#options;
    const wanted = this.#kinds(cluster);
    const [one, ...several] = watchedNamespaces;
    let wasAway = false;
    const follower: ClusterFollower = new ClusterFollower({
      cluster,
      // The API server can be asked for one or for all: of several the others are left out here.
      kinds: one === undefined || several.length > 0 ? wanted : wanted.map((kind) => inNamespace(kind, one)),
      nowMs,
      random,
      onEvent,
      ...(open && { open }),
      onChange: (change) => this.#isWatched(change) && this.#gathered.emit(change),
      onSyncError: this.#options.onSyncError,
      onFailure: (cause) => this.#gathered.fail(cause),
      onState: () => {
        const { away } = follower;
        if (away !== undefined && !wasAway)
          log.warn("cluster unreachable, its last state stays in force", { cluster, reason: away.reason });
        if (away === undefined && wasAway) log.info("cluster reachable again", { cluster });
        wasAway = away !== undefined;
        onProblems();
        this.#gathered.wake();
      },
    });
    this.#followers.set(cluster, follower);
    return follower;
  }

  #kinds(cluster: string): readonly FollowedKind[] {
    const { exportedOnly, clusterSetHosts, endpointsObjects, discoverGateways, clusterId } = this.#options;
    const { multiClusterApi = usualMultiClusterApi, workloadEntriesOf } = this.#options;
    const isOther = cluster !== clusterId;
    return [
      ...(endpointsObjects === true ? kindsWithEndpoints : usualKinds),
      ...(discoverGateways === true && isOther ? [gatewayApiGateways] : []),
      ...(workloadEntriesOf !== undefined && isOther ? [workloadEntries(workloadEntriesOf)] : []),
      ...(exportedOnly === true ? [multiClusterKind("ServiceExport", multiClusterApi)] : []),
      ...(clusterSetHosts === true ? [multiClusterKind("ServiceImport", multiClusterApi)] : []),
    ];
  }

  #noteLate(unread: readonly string[]): void {
    const { log, onSyncTimeout } = this.#options;
    log.warn("clusters not read in time, their last published state stays", { unread: unread.join(", ") });
    this.#late = new Set(unread.map((shard) => parseShard(shard).clusterId));
    for (const cluster of this.#late) onSyncTimeout?.(cluster);
  }

  #applySecrets(): void {
    const { clusterId: ownCluster, allowedOptions, log, onProblems } = this.#options;
    const rules = { ownCluster, ...(allowedOptions && { allowedOptions }) };
    const { clusters, problems } = this.#secrets.clusters(rules);
    const remotes = new Map<string, RemoteCluster>();
    for (const remote of clusters.values()) {
      const { config } = remote;
      // One that does not parse leaves the cluster as it was before.
      if (config === undefined) continue;
      remotes.set(remote.cluster, remote);
      if (this.#remotes.get(remote.cluster)?.kubeconfig === remote.kubeconfig) continue;
      log.info("cluster connected", { cluster: remote.cluster, secret: remote.secret, server: config.server });
      (this.#followers.get(remote.cluster) ?? this.#follow(remote.cluster)).connect(config);
    }
    for (const [cluster, follower] of this.#followers) {
      if (cluster === ownCluster || clusters.has(cluster)) continue;
      log.info("cluster disconnected", { cluster });
      this.#followers.delete(cluster);
      const left: Promise<void> = follower[Symbol.asyncDispose]().finally(() => this.#leaving.delete(left));
      this.#leaving.add(left);
      this.#gathered.emit({ type: "cluster", op: "delete", cluster });
    }
    this.#remotes = remotes;
    this.#secretProblems = problems.map((problem) => ({ file: "", line: 0, ...problem }));
    onProblems();
    this.#gathered.wake();
  }

  /** Without the Secrets the list of clusters is unknown. */
  #unread(): readonly string[] {
    const unread = [...this.#followers.values()].filter(({ isComplete }) => !isComplete).map(({ cluster }) => cluster);
    return (this.#secrets.isRead ? unread : ["*"]).flatMap(shardsOf);
  }
}

/** ServiceEntries have endpoints of the pods that they select. */
function shardsOf(cluster: string): readonly string[] {
  return [`Kubernetes/${cluster}`, `External/${cluster}`];
}

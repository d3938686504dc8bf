/**
 * The Secrets of other clusters that objects refer to, as configuration of this one: a proxy is sent those of its own cluster. Clusters come, go
 * and change their credentials while running. No other source waits for them.
 */
import { type KubeApi, type KubeConfig, openKubeApi, type RemoteClusters } from "@flotilla/kube-api";
import {
  type ConfigChange,
  type ConfigKey,
  configKeyText,
  type LabelSelector,
  parseClusterObjectName,
} from "@flotilla/model";
import { delay, type Logger, Wakeup } from "@flotilla/runtime";
import { PendingChanges, type SourceProblem } from "@flotilla/sources";
import type { KindListener } from "../../aggregate/merge-sources.ts";
import type { ReferencedName, SecretReferences } from "../../publish/credential-uses.ts";
import type { ConfigGroup, ConfigSource } from "../config-source.ts";
import { type Away, ClusterSecrets } from "./cluster-secrets.ts";

export const remoteSecretsName = "secrets of other clusters";

export interface RemoteSecretsOptions {
  /** All other clusters, again after each change of them. Runs until its signal fires. */
  readonly clusters: (stop: AbortSignal) => AsyncIterable<RemoteClusters>;
  readonly references: SecretReferences;
  /** Of the API, with selectors. */
  readonly path: string;
  /** True for namespaces whose Secrets count. */
  readonly isRead: (namespace: string) => boolean;
  /** The discoverySelectors in force. */
  readonly selectors: () => readonly LabelSelector[];
  readonly open?: (config: KubeConfig) => KubeApi;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly onProblems: () => void;
}

/** Events within this time are one group. */
const gatherMs = 10;

export class RemoteSecrets implements ConfigSource {
  readonly name = remoteSecretsName;
  /** Of the MeshConfig, which has the selectors. */
  readonly listener: KindListener;
  readonly #options: RemoteSecretsOptions;
  readonly #clusters = new Map<string, ClusterSecrets>();
  /** Texts of the kubeconfigs in use. */
  readonly #kubeconfigs = new Map<string, string>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #pending: PendingChanges<ConfigChange>;
  readonly #wakeup = new Wakeup();
  /** Undefined while it is not known which clusters there are. */
  #named: RemoteClusters | undefined;
  /** Clusters that were not read in full when the last group was given. */
  #unread: ReadonlySet<string> = new Set(["*"]);
  #failure: { readonly cause: unknown } | undefined;

  constructor(options: RemoteSecretsOptions) {
    this.#options = options;
    this.#pending = new PendingChanges({ nameOf: ({ key }) => configKeyText(key), nowMs: options.nowMs });
    options.references.listen((reference) => this.#noteReference(reference));
    const noteSelectors = () => [...this.#clusters.values()].forEach((cluster) => void cluster.noteSelectors());
    this.listener = { onLoaded: noteSelectors, onChange: noteSelectors };
  }

  async *groups(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const { nowMs, clusters } = this.#options;
    yield { changes: [], eventTimeMs: nowMs() };
    const ended = new AbortController();
    const running = AbortSignal.any([stop, ended.signal]);
    const following = this.#follow(clusters(running)).catch((cause: unknown) => this.#fail(cause));
    try {
      while (!stop.aborted && this.#failure === undefined) {
        if (!(await this.#wakeup.wait(running))) continue;
        await delay(gatherMs, running);
        const isMoreRead = this.#noteUnread();
        if (this.#pending.isEmpty && !isMoreRead) continue;
        yield { ...this.#pending.take(), isComplete: isMoreRead };
      }
      if (this.#failure !== undefined && !stop.aborted) throw this.#failure.cause;
    } finally {
      ended.abort();
      await Promise.all([following, ...[...this.#clusters.values()].map((one) => one[Symbol.asyncDispose]())]);
      await Promise.all(this.#leaving);
    }
  }

  problems(): readonly SourceProblem[] {
    const named = this.#named?.problems.map((problem) => ({ file: "", line: 0, ...problem })) ?? [];
    return [...named, ...[...this.#clusters.values()].flatMap((cluster) => cluster.problems())];
  }

  isIncomplete({ kind, name }: ConfigKey): boolean {
    const remote = kind === "Secret" ? parseClusterObjectName(name) : undefined;
    return remote !== undefined && (this.#unread.has("*") || this.#unread.has(remote.cluster));
  }

  /** Of each cluster, since when its Secrets cannot be read. */
  away(): ReadonlyMap<string, Away | undefined> {
    return new Map([...this.#clusters].map(([cluster, { away }]) => [cluster, away]));
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #follow(clusters: AsyncIterable<RemoteClusters>): Promise<void> {
    for await (const named of clusters) {
      this.#named = named;
      this.#applyClusters();
    }
  }

  #noteReference(reference: ReferencedName | undefined): void {
    if (reference === undefined) this.#applyClusters();
    else for (const cluster of this.#clusters.values()) cluster.reconsider(reference);
  }

  /** Clusters are read once the references are known: Secrets without a reference are not kept. */
  #applyClusters(): void {
    const { references, log, onProblems } = this.#options;
    if (this.#named === undefined || !references.isLoaded) return;
    const { clusters } = this.#named;
    for (const { cluster, config, kubeconfig, secret } of clusters.values()) {
      // One that cannot be used leaves the cluster as it was before.
      if (config === undefined || this.#kubeconfigs.get(cluster) === kubeconfig) continue;
      this.#kubeconfigs.set(cluster, kubeconfig);
      log.info("reading secrets of the cluster", { cluster, secret, server: config.server });
      (this.#clusters.get(cluster) ?? this.#add(cluster)).connect(config);
    }
    for (const [cluster, secrets] of this.#clusters) {
      if (clusters.has(cluster)) continue;
      log.info("secrets of the cluster no longer read", { cluster });
      this.#kubeconfigs.delete(cluster);
      this.#clusters.delete(cluster);
      secrets.clear();
      const left: Promise<void> = secrets[Symbol.asyncDispose]().finally(() => this.#leaving.delete(left));
      this.#leaving.add(left);
    }
    onProblems();
    this.#wakeup.wake();
  }

  #add(cluster: string): ClusterSecrets {
    const { onProblems, open = openKubeApi } = this.#options;
    const secrets = new ClusterSecrets({
      ...{ ...this.#options, open, cluster },
      onChange: (change) => {
        this.#pending.add(change);
        this.#wakeup.wake();
      },
      onFailure: (cause) => this.#fail(cause),
      onState: () => {
        onProblems();
        this.#wakeup.wake();
      },
    });
    this.#clusters.set(cluster, secrets);
    return secrets;
  }

  /** @returns whether a cluster has been read since the last time: published Secrets that it does not have are gone */
  #noteUnread(): boolean {
    const before = this.#unread;
    this.#unread = this.#unreadNow();
    return [...before].some((cluster) => !this.#unread.has(cluster));
  }

  #unreadNow(): ReadonlySet<string> {
    if (this.#named === undefined || !this.#options.references.isLoaded) return new Set(["*"]);
    return new Set([...this.#named.clusters.keys()].filter((name) => this.#clusters.get(name)?.isComplete !== true));
  }

  #fail(cause: unknown): void {
    this.#failure ??= { cause };
    this.#wakeup.wake();
  }
}

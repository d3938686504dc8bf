/** A source of Secrets of clusters whose API servers are in memory, and what it yields. */
import assert from "node:assert/strict";
import type { KubeConfig, RemoteCluster, RemoteProblem } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import type { ConfigChange, LabelSelector } from "@flotilla/model";
import { type Logger, noopLogger, until, Wakeup } from "@flotilla/runtime";
import { CredentialUses } from "../../publish/credential-uses.ts";
import type { ConfigGroup } from "../config-source.ts";
import { RemoteSecrets } from "./remote-secrets.ts";

export const secretsOf = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/secrets/${name}`;
export const secret = (text: string): object => ({
  ...{ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls" },
  metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "all of it" } },
  data: { "tls.crt": Buffer.from(text).toString("base64") },
});
export const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 2 });

/** Clusters by name, as Secrets name them; those of `kubeconfigs` have another one than usual. */
export class Stage implements AsyncDisposable {
  readonly uses = new CredentialUses();
  readonly groups: ConfigGroup[] = [];
  readonly lines: string[] = [];
  readonly source: RemoteSecrets;
  readonly #stop = new AbortController();
  readonly #changed = new Wakeup();
  readonly #apis: Readonly<Record<string, MemoryApi>>;
  #named: readonly RemoteCluster[] = [];
  #problems: readonly RemoteProblem[] = [];
  readonly #running: Promise<void>;
  #selectors: readonly LabelSelector[] = [];

  constructor(apis: Readonly<Record<string, MemoryApi>>, isRead: (namespace: string) => boolean = () => true) {
    this.#apis = apis;
    const note = (level: string) => (message: string, fields?: object) =>
      void this.lines.push(`${level} ${message} ${(fields as { cluster?: string })?.cluster}`);
    const log: Logger = { ...noopLogger, warn: note("warn"), info: note("info") };
    this.source = new RemoteSecrets({
      ...{ references: this.uses, log, isRead, nowMs: Date.now, random: () => 0 },
      selectors: () => this.#selectors,
      clusters: (stop) => this.#clusters(stop),
      path: "/api/v1/secrets?fieldSelector=type!%3Dother",
      open: ({ server }: KubeConfig) => (apis[server] as MemoryApi).api,
      onProblems: () => undefined,
    });
    this.#running = this.#run();
  }

  /** The clusters that there are from now on, each with the API server of that name, or of the one behind a `=`. */
  name(...clusters: readonly string[]): void {
    this.#named = clusters.map((text): RemoteCluster => {
      const [cluster = "", server = cluster] = text.split("=");
      const config = this.#apis[server] === undefined ? undefined : { server, credentials: async () => ({}) };
      return { cluster, secret: `Secret/istio-system/${cluster}`, kubeconfig: server, config };
    });
    this.#problems = this.#named.flatMap(({ secret: object, cluster, config }) =>
      config === undefined ? [{ object, field: `data[${cluster}]`, reason: "is no kubeconfig" }] : [],
    );
    this.#changed.wake();
  }

  /** Namespaces with this label alone; undefined: all. */
  select(label: string | undefined): void {
    this.#selectors = label === undefined ? [] : [{ matchLabels: { [label]: "yes" } }];
    const key = { kind: "MeshConfig", namespace: "", name: "mesh" };
    this.source.listener.onChange(key, undefined);
  }

  refer(name: string, ...credentials: readonly string[]): void {
    const key = { kind: "Gateway", namespace: "infra", name };
    const servers = credentials.map((credentialName) => ({ tls: { credentialName } }));
    const config = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { servers } };
    this.uses.note(key, credentials.length === 0 ? undefined : config);
  }

  /** Changes since the last call that read all, once there are some. */
  async next(): Promise<readonly string[]> {
    await until(() => this.groups.some(({ changes }) => changes.length > 0), soon("changes"));
    return this.groups.splice(0).flatMap(({ changes }) => changes.map(textOf));
  }

  problems(): readonly string[] {
    return this.source.problems().map(({ object, field, reason }) => [object, field, reason].filter(Boolean).join(" "));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    for await (const group of this.source.groups(this.#stop.signal)) this.groups.push(group);
  }

  async *#clusters(stop: AbortSignal) {
    while (await this.#changed.wait(stop))
      yield { clusters: new Map(this.#named.map((one) => [one.cluster, one])), problems: this.#problems };
  }
}

function textOf(change: ConfigChange): string {
  const { namespace, name } = change.key;
  if (change.op === "delete") return `delete ${namespace}/${name}`;
  const { data = {} } = change.value.spec as { data?: Readonly<Record<string, string>> };
  assert.deepEqual([change.value.labels, change.value.annotations], [{}, {}]);
  return `put ${namespace}/${name} ${Buffer.from(data["tls.crt"] ?? "", "base64").toString()}`;
}

export function aCluster(objects: Readonly<Record<string, string>>): MemoryApi {
  const stored = Object.entries(objects).map(([place, text]) => {
    const [namespace = "", name = ""] = place.split("/");
    return [secretsOf(namespace, name), secret(text)] as const;
  });
  return createMemoryApi(Object.fromEntries(stored));
}

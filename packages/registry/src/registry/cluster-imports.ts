/**
 * ServiceImports of all clusters. Each gives its own cluster's addresses of a service of the cluster set; that a service is
 * imported at all makes endpoints of every cluster part of it, for callers of their own cluster at least. Source: Kubernetes' multi-cluster services API.
 */
import { type Config, type ConfigChange, type TextOf, textCodec } from "@flotilla/model";
import type { ObjectChange } from "./registry-input.ts";

/** Where a ServiceImport comes from: a cluster's API server, or configuration, which is the own cluster's. */
interface Known {
  readonly ofClusters: Map<string, Config>;
  configured?: Config;
}

const importKey = textCodec("ServiceImportName", "/", ["namespace", "name"]);
type ImportKey = TextOf<typeof importKey>;

/** The change for the registry of `cluster`. */
export interface ImportOfCluster {
  readonly cluster: string;
  readonly change: ConfigChange;
}

/** The ServiceImports of every cluster by service. */
export class ClusterImports {
  readonly #ownCluster: string;
  readonly #known = new Map<ImportKey, Known>();

  constructor(ownCluster: string) {
    this.#ownCluster = ownCluster;
  }

  configured(change: ConfigChange, clusters: Iterable<string>): readonly ImportOfCluster[] {
    return this.#change(change.key, clusters, (known) => {
      if (change.op === "put") known.configured = change.value;
      else delete known.configured;
    });
  }

  ofCluster(cluster: string, change: ObjectChange, clusters: Iterable<string>): readonly ImportOfCluster[] {
    const { namespace = "", name } = change.op === "put" ? change.object.metadata : change.key;
    const key = { kind: "ServiceImport", namespace, name };
    return this.#change(key, clusters, ({ ofClusters }) => {
      if (change.op === "delete") ofClusters.delete(cluster);
      else ofClusters.set(cluster, configOf(key, change.object["spec"] ?? {}));
    });
  }

  /** The cluster is gone, and its imports with it. */
  remove(cluster: string, clusters: Iterable<string>): readonly ImportOfCluster[] {
    const others = [...clusters];
    return [...this.#known.keys()].flatMap((text) =>
      this.#change(keyOf(text), others, ({ ofClusters }) => ofClusters.delete(cluster)),
    );
  }

  /** Services that a cluster itself imports, with the addresses that it gives them. */
  ofOne(cluster: string): ReadonlyMap<string, readonly string[]> {
    const own = [...this.#known].flatMap(([text, known]) => {
      const found = this.#ownOf(cluster, known);
      const { ips = [] } = (found?.spec ?? {}) as { readonly ips?: readonly string[] };
      return found === undefined ? [] : [[text, ips] as const];
    });
    return new Map(own);
  }

  /** All imports that the registry of a cluster needs. */
  all(cluster: string): readonly ConfigChange[] {
    return [...this.#known.keys()].map((text) => this.#changeOf(cluster, text));
  }

  #change(key: Config["key"], clusters: Iterable<string>, change: (known: Known) => void): readonly ImportOfCluster[] {
    const text = importKey.write(key);
    const known: Known = this.#known.get(text) ?? { ofClusters: new Map() };
    change(known);
    if (known.ofClusters.size === 0 && known.configured === undefined) this.#known.delete(text);
    else this.#known.set(text, known);
    return Array.from(clusters, (cluster) => ({ cluster, change: this.#changeOf(cluster, text) }));
  }

  #changeOf(cluster: string, text: ImportKey): ConfigChange {
    const known = this.#known.get(text);
    const key = keyOf(text);
    if (known === undefined) return { type: "config", op: "delete", key };
    return { type: "config", op: "put", key, value: this.#ownOf(cluster, known) ?? configOf(key, {}) };
  }

  #ownOf(cluster: string, { ofClusters, configured }: Known): Config | undefined {
    return ofClusters.get(cluster) ?? (cluster === this.#ownCluster ? configured : undefined);
  }
}

function keyOf(text: ImportKey): Config["key"] {
  return { kind: "ServiceImport", ...importKey.read(text) };
}

function configOf(key: Config["key"], spec: unknown): Config {
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
}

/**
 * The registries of several clusters side by side: each has its own objects and shards. ServiceEntries and other registries belong to the
 * first, the settings' own cluster; mesh documents hold for all, ServiceEntries select pods and WorkloadEntries of all, and what one cluster
 * imports of the cluster set is made of the services of all.
 */
import {
  apiGroup,
  type ClusterLocalInputs,
  type ClusterLocalRule,
  type ConfigChange,
  clusterLocalRules,
  compareText,
  defaultProxyConfig,
  isClusterLocal,
  type KubeObject,
  type ObjectName,
  objectName,
  type Service,
  serviceHostname,
} from "@flotilla/model";
import type { ServiceEntrySpec } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import { ClusterImports, type ImportOfCluster } from "./cluster-imports.ts";
import type { RegistryProblem } from "./problem.ts";
import type { RegistryChange, RegistryUpdate } from "./published.ts";
import type { RegistrationRecords } from "./registration-side.ts";
import { Registry } from "./registry.ts";
import { multiClusterGroup, type ObjectChange, type RegistryInput } from "./registry-input.ts";

const forAll: ReadonlySet<string> = new Set(["MeshConfig", "MeshNetworks", "ServiceEntry"]);

/** A service of the multi-cluster services API as one cluster has it. */
export interface ClusterSetService {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly exported: boolean;
  /** Of its ServiceImport; undefined where the cluster has none. */
  readonly importedAddresses: readonly string[] | undefined;
}

/** A registry for each cluster, and what they share. Clusters are added and removed while it runs. */
export class ClusterRegistries {
  readonly #settings: RegistrySettings;
  readonly #own: Registry;
  readonly #others = new Map<string, Registry>();
  /** The last of each, for clusters that come later. */
  readonly #common = new Map<string, ConfigChange>();
  readonly #imports: ClusterImports;

  constructor(settings: RegistrySettings) {
    this.#settings = settings;
    this.#own = new Registry(settings, "own", (name) => this.#serviceOf(name));
    this.#imports = new ClusterImports(settings.clusterId);
  }

  /** The address that a service was given before; set before the first inputs. */
  remember(service: Parameters<Registry["remember"]>[0]): void {
    this.#own.remember(service);
  }

  apply(inputs: readonly RegistryInput[]): RegistryUpdate {
    const updates: RegistryUpdate[] = [];
    const groups = new Map<string, RegistryInput[]>();
    const add = (cluster: string, input: RegistryInput) => {
      const group = groups.get(cluster);
      if (group === undefined) groups.set(cluster, [input]);
      else group.push(input);
    };
    // Clusters that come with this group are imported for too.
    const clusters = (...more: readonly string[]) => new Set([...this.#clusters(), ...groups.keys(), ...more]);
    const addImports = (imports: readonly ImportOfCluster[]) => {
      for (const { cluster, change } of imports) add(cluster, change);
    };
    for (const input of inputs) {
      if (input.type === "cluster") {
        groups.delete(input.cluster);
        updates.push(this.#remove(input.cluster));
        addImports(this.#imports.remove(input.cluster, clusters()));
      } else if (input.type === "object") {
        const cluster = input.cluster ?? this.#settings.clusterId;
        if (isServiceImport(input)) addImports(this.#imports.ofCluster(cluster, input, clusters(cluster)));
        else add(cluster, input);
      } else if (input.type === "config" && input.key.kind === "ServiceImport") {
        addImports(this.#imports.configured(input, clusters()));
      } else {
        add(this.#settings.clusterId, input);
        if (input.type !== "config" || !forAll.has(input.key.kind)) continue;
        const { kind, namespace, name } = input.key;
        const text = `${kind}/${namespace}/${name}`;
        const common = forOthers(input);
        const isKnown = this.#common.has(text);
        if (common.op === "put") this.#common.set(text, common);
        else this.#common.delete(text);
        if (common.op === "put" || isKnown) for (const cluster of this.#others.keys()) add(cluster, common);
      }
    }
    for (const [cluster, group] of groups) updates.push(this.#applyTo(cluster, group));
    updates.push(...this.#importAnew(updates.flatMap(({ changes }) => changes)));
    return {
      changes: updates.flatMap(({ changes }) => changes),
      urgent: updates.some(({ urgent }) => urgent),
    };
  }

  /** All that holds now, as puts. */
  state(): readonly RegistryChange[] {
    return [this.#own, ...this.#others.values()].flatMap((registry) => registry.state());
  }

  machineRecords(): RegistrationRecords {
    return this.#own.machineRecords();
  }

  /** By cluster: the Services that callers of others may see, which are those that no rule keeps within their cluster. */
  exportable(): ReadonlyMap<string, readonly KubeObject[]> {
    const rules = this.#localRules();
    const isExportable = ({ metadata: { name, namespace = "" } }: KubeObject) =>
      !isClusterLocal(rules, serviceHostname(name, namespace, this.#settings.domain));
    const all = [[this.#settings.clusterId, this.#own] as const, ...this.#others];
    return new Map(all.map(([cluster, registry]) => [cluster, [...registry.kubernetesObjects()].filter(isExportable)]));
  }

  /** Services that a cluster exports to the set of clusters or imports from it, by cluster, namespace and name. */
  clusterSetServices(): readonly ClusterSetService[] {
    const all = [[this.#settings.clusterId, this.#own] as const, ...this.#others];
    const found = all.flatMap(([cluster, registry]) => {
      const [exported, imported] = [registry.exportedServices(), this.#imports.ofOne(cluster)];
      const names = new Set<string>([...exported, ...imported.keys()]);
      return [...names].map((text) => ({
        ...{ cluster, ...objectName.read(text as ObjectName) },
        ...{ exported: exported.has(text as ObjectName), importedAddresses: imported.get(text) },
      }));
    });
    const order = ({ cluster, namespace, name }: ClusterSetService) => `${cluster}\n${namespace}\n${name}`;
    return found.sort((a, b) => compareText(order(a), order(b)));
  }

  problems(): readonly RegistryProblem[] {
    const others = [...this.#others].flatMap(([cluster, registry]) =>
      registry
        .problems()
        // The owner reports what all have.
        .filter(({ object }) => !object.startsWith("ServiceEntry/"))
        .map((problem) => ({ ...problem, object: `${cluster}: ${problem.object}` })),
    );
    return [...this.#own.problems(), ...others];
  }

  #applyTo(cluster: string, inputs: readonly RegistryInput[]): RegistryUpdate {
    const known = cluster === this.#settings.clusterId ? this.#own : this.#others.get(cluster);
    if (known !== undefined) return known.apply(inputs);
    const registry = new Registry({ ...this.#settings, clusterId: cluster }, "other", (name) => this.#serviceOf(name));
    this.#others.set(cluster, registry);
    // Inputs common to all may give endpoints to a cluster that has nothing of its own.
    return registry.apply([...this.#common.values(), ...this.#imports.all(cluster), ...inputs]);
  }

  #localRules(): readonly ClusterLocalRule[] {
    const mesh = [...this.#common.values()].find(({ op, key }) => op === "put" && key.kind === "MeshConfig");
    const spec = (mesh?.op === "put" ? mesh.value.spec : {}) as Partial<Pick<ClusterLocalInputs, "serviceSettings">> & {
      readonly defaultConfig?: { readonly discoveryAddress?: string };
    };
    return clusterLocalRules({
      serviceSettings: spec.serviceSettings ?? [],
      discoveryAddress: spec.defaultConfig?.discoveryAddress ?? String(defaultProxyConfig["discoveryAddress"]),
      domain: this.#settings.domain,
    });
  }

  #clusters(): readonly string[] {
    return [this.#settings.clusterId, ...this.#others.keys()];
  }

  /** The mesh-wide Service: of the own cluster before that of the others. */
  #serviceOf(name: ObjectName): Service | undefined {
    const others = [...this.#others].sort(([a], [b]) => compareText(a, b)).map(([, registry]) => registry);
    for (const registry of [this.#own, ...others]) {
      const service = registry.kubernetesService(name);
      if (service !== undefined) return service;
    }
    return undefined;
  }

  /** A cluster may import what only others have: their services changed. */
  #importAnew(changes: readonly RegistryChange[]): readonly RegistryUpdate[] {
    if (!this.#settings.clusterSetHosts || this.#others.size === 0) return [];
    const names = new Set<ObjectName>();
    for (const { type, key } of changes) if (type === "service") names.add(objectName.write(key));
    if (names.size === 0) return [];
    return [this.#own, ...this.#others.values()].map((registry) => registry.importAnew(names));
  }

  #remove(cluster: string): RegistryUpdate {
    const registry = this.#others.get(cluster);
    this.#others.delete(cluster);
    const changes = (registry?.state() ?? []).map(({ type, key }) => ({ type, op: "delete", key }) as RegistryChange);
    return { changes, urgent: changes.some(({ type }) => type === "endpoints") };
  }
}

function isServiceImport(input: ObjectChange): boolean {
  if (input.op === "delete") return input.key.kind === "ServiceImport";
  return input.object.kind === "ServiceImport" && apiGroup(input.object.apiVersion) === multiClusterGroup;
}

/** A ServiceEntry that selects nothing has nothing to look for elsewhere. */
function forOthers(input: ConfigChange): ConfigChange {
  if (input.op === "delete" || input.key.kind !== "ServiceEntry") return input;
  const { workloadSelector } = (input.value.spec ?? {}) as ServiceEntrySpec;
  return workloadSelector === undefined ? { type: "config", op: "delete", key: input.key } : input;
}

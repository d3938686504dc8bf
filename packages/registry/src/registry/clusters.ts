/**
 * The registries of several clusters side by side: each has its own objects and shards. ServiceEntries, WorkloadEntries and other
 * registries belong to the first, the settings' own cluster; mesh documents and imports hold for all, and ServiceEntries select
 * pods of all.
 */
import type { ConfigChange } from "@flotilla/model";
import type { ServiceEntrySpec } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import type { MachineRecords } from "./machine-side.ts";
import type { RegistryProblem } from "./problem.ts";
import type { RegistryChange } from "./published.ts";
import { Registry } from "./registry.ts";
import type { RegistryInput } from "./registry-input.ts";
import type { RegistryUpdate } from "./registry-update.ts";

const forAll: ReadonlySet<string> = new Set(["MeshConfig", "MeshNetworks", "ServiceImport", "ServiceEntry"]);

export class ClusterRegistries {
  readonly #settings: RegistrySettings;
  readonly #own: Registry;
  readonly #others = new Map<string, Registry>();
  /** The last of each, for clusters that come later. */
  readonly #common = new Map<string, ConfigChange>();

  constructor(settings: RegistrySettings) {
    this.#settings = settings;
    this.#own = new Registry(settings);
  }

  /** The address that a service was given before; told before the first inputs. */
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
    for (const input of inputs) {
      if (input.type === "cluster") {
        groups.delete(input.cluster);
        updates.push(this.#remove(input.cluster));
      } else if (input.type === "object") add(input.cluster ?? this.#settings.clusterId, input);
      else {
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
    for (const [cluster, group] of groups) updates.push(this.#registry(cluster).apply(group));
    return {
      changes: updates.flatMap(({ changes }) => changes),
      urgent: updates.some(({ urgent }) => urgent),
    };
  }

  /** All that holds now, as puts. */
  state(): readonly RegistryChange[] {
    return [this.#own, ...this.#others.values()].flatMap((registry) => registry.state());
  }

  machineRecords(): MachineRecords {
    return this.#own.machineRecords();
  }

  problems(): readonly RegistryProblem[] {
    const others = [...this.#others].flatMap(([cluster, registry]) =>
      registry
        .problems()
        // Of what all have the owner tells.
        .filter(({ object }) => !object.startsWith("ServiceEntry/"))
        .map((problem) => ({ ...problem, object: `${cluster}: ${problem.object}` })),
    );
    return [...this.#own.problems(), ...others];
  }

  #registry(cluster: string): Registry {
    if (cluster === this.#settings.clusterId) return this.#own;
    const known = this.#others.get(cluster);
    if (known !== undefined) return known;
    const registry = new Registry({ ...this.#settings, clusterId: cluster }, "other");
    registry.apply([...this.#common.values()]);
    this.#others.set(cluster, registry);
    return registry;
  }

  #remove(cluster: string): RegistryUpdate {
    const registry = this.#others.get(cluster);
    this.#others.delete(cluster);
    const changes = (registry?.state() ?? []).map(
      (change): RegistryChange =>
        change.type === "service"
          ? { type: "service", op: "delete", key: change.key }
          : { type: "endpoints", op: "delete", key: change.key },
    );
    return { changes, urgent: changes.some(({ type }) => type === "endpoints") };
  }
}

/** A ServiceEntry that selects nothing has nothing to look for elsewhere. */
function forOthers(input: ConfigChange): ConfigChange {
  if (input.op === "delete" || input.key.kind !== "ServiceEntry") return input;
  const { workloadSelector } = input.value.spec as ServiceEntrySpec;
  return workloadSelector === undefined ? { type: "config", op: "delete", key: input.key } : input;
}

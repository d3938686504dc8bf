/**
 * The current inputs: applies changes to the graph's inputs and keeps the rows of all indexes.
 * Owns no derived state; an equal sequence of changes gives equal inputs, in any process.
 */
import type { Graph } from "@flotilla/incremental";
import {
  type Change,
  type Config,
  type ConfigChange,
  type ConfigKey,
  compareText,
  configKeyText,
  type Endpoint,
  type EndpointsChange,
  type ServiceChange,
} from "@flotilla/model";
import { decodeMesh, decodeNetworks, defaultMesh } from "./mesh.ts";
import {
  type AddressUse,
  keys,
  RowChanges,
  type RowIndex,
  type SelectorPairs,
  type ServiceName,
  selectorPairs,
} from "./row-index.ts";
import type { Subject } from "./subject.ts";
import { WorkloadRows } from "./workload-rows.ts";

/** Decodes an object's spec; throws when it cannot be read. */
export type DecodeSpec = (config: Config) => Config;

export interface WorldOptions {
  readonly indexes: readonly RowIndex<never>[];
  readonly decode: DecodeSpec;
}

export interface Refusal {
  readonly change: Change;
  readonly error: unknown;
}

export class World {
  readonly #graph: Graph<Subject>;
  readonly #decode: DecodeSpec;
  readonly #indexesByKind = new Map<string, RowIndex<never>[]>();
  readonly #serviceNames = new Map<string, ServiceName>();
  readonly #workloads: WorkloadRows;
  readonly #projections = new Map<string, Config>();

  constructor(graph: Graph<Subject>, { indexes, decode }: WorldOptions) {
    this.#graph = graph;
    this.#workloads = new WorkloadRows(graph);
    graph.set(keys.mesh, defaultMesh());
    this.#decode = decode;
    for (const index of indexes)
      this.#indexesByKind.set(index.kind, [...(this.#indexesByKind.get(index.kind) ?? []), index]);
  }

  /**
   * Applies changes in order. A change that cannot be applied leaves its object as it was and is
   * returned with its error; the others are applied.
   */
  apply(changes: readonly Change[]): readonly Refusal[] {
    const refused: Refusal[] = [];
    const rows = new RowChanges();
    const namesBefore = this.#serviceNames.size;
    let namesChanged = false;
    for (const change of changes) {
      try {
        if (change.type === "config") this.#applyConfig(change, rows);
        else if (change.type === "service") namesChanged = this.#applyService(change) || namesChanged;
        else if (change.type === "endpoints") this.#applyEndpoints(change);
        else this.#workloads.apply(change);
      } catch (error) {
        refused.push({ change, error });
      }
    }
    if (changes.some(({ type }) => type === "workload")) this.#workloads.publish();
    for (const [key, row] of rows.rows((key) => this.#graph.get(key))) this.#graph.set(key, row);
    if (namesChanged || namesBefore !== this.#serviceNames.size) this.#publishServiceNames();
    return refused;
  }

  /** The inputs that hold an object: itself, and the rows it stands in. */
  inputsOf(key: ConfigKey): readonly string[] {
    if (key.kind === "MeshConfig") return [keys.mesh];
    if (key.kind === "MeshNetworks") return [keys.networks];
    const config = this.#graph.get(keys.config(key));
    if (config === undefined) return [];
    const rows = (this.#indexesByKind.get(key.kind) ?? []).flatMap((index) =>
      index.keysOf(config as Config<never>).map((row) => keys.row(index.name, row)),
    );
    return [keys.config(key), keys.allOf(key.kind), ...rows, ...servicesOf(config)];
  }

  #applyConfig(change: ConfigChange, rows: RowChanges): void {
    if (change.key.kind === "MeshConfig") {
      this.#graph.set(keys.mesh, change.op === "put" ? decodeMesh(change.value) : defaultMesh());
      return;
    }
    if (change.key.kind === "MeshNetworks") {
      this.#graph.set(keys.networks, change.op === "put" ? decodeNetworks(change.value) : undefined);
      return;
    }
    const after = change.op === "put" ? this.#decode(change.value) : undefined;
    const indexes = (this.#indexesByKind.get(change.key.kind) ?? []).map((index) => {
      return { index, rowsAfter: new Set(after === undefined ? [] : index.keysOf(after as Config<never>)) };
    });
    const key = keys.config(change.key);
    const before = this.#graph.get(key);
    rows.replace(keys.allOf(change.key.kind), before, after);
    for (const { index, rowsAfter } of indexes) {
      const [old, now] = this.#inRowsOf(index, before, after);
      const rowsBefore = new Set(before === undefined ? [] : index.keysOf(before as Config<never>));
      for (const row of new Set([...rowsBefore, ...rowsAfter])) {
        rows.replace(
          keys.row(index.name, row),
          rowsBefore.has(row) ? old : undefined,
          rowsAfter.has(row) ? now : undefined,
        );
      }
    }
    // Last: who is asked for what follows from it finds the rows as they are now.
    this.#graph.set(key, after);
  }

  /** How an object stood and will stand in the rows of an index: identical when nothing changes for its readers. */
  #inRowsOf(
    index: RowIndex<never>,
    before: Config | undefined,
    after: Config | undefined,
  ): readonly [Config | undefined, Config | undefined] {
    const key = (after ?? before)?.key;
    if (index.project === undefined || key === undefined) return [before, after];
    const id = `${index.name}/${configKeyText(key)}`;
    const old = this.#projections.get(id);
    const projected = after && index.project(after as Config<never>);
    const now = old !== undefined && JSON.stringify(old) === JSON.stringify(projected) ? old : projected;
    if (now === undefined) this.#projections.delete(id);
    else this.#projections.set(id, now);
    return [old, now];
  }

  #applyService(change: ServiceChange): boolean {
    const { shard, namespace, hostname, name } = change.key;
    const key = keys.service({ namespace, hostname });
    const shards = new Map(this.#graph.get(key));
    const before = selectorPairs(shards.values());
    const source = `${shard}|${name}`;
    if (change.op === "put") shards.set(source, change.value);
    else shards.delete(source);
    this.#graph.set(key, shards.size === 0 ? undefined : new Map([...shards].sort(([a], [b]) => compareText(a, b))));
    this.#trackSelectors({ namespace, hostname }, before, selectorPairs(shards.values()));
    return this.#trackServiceName({ namespace, hostname }, shards.size > 0);
  }

  #trackSelectors(name: ServiceName, before: SelectorPairs, after: SelectorPairs): void {
    for (const [text, [label, value]] of new Map([...before, ...after])) {
      if (before.has(text) === after.has(text)) continue;
      const key = keys.selectorRow(name.namespace, label, value);
      const others = (this.#graph.get(key) ?? []).filter(({ hostname }) => hostname !== name.hostname);
      const names = after.has(text) ? [...others, name].sort((a, b) => compareText(a.hostname, b.hostname)) : others;
      this.#graph.set(key, names.length === 0 ? undefined : names);
    }
  }

  #trackServiceName(name: ServiceName, exists: boolean): boolean {
    const text = `${name.hostname}/${name.namespace}`;
    if (this.#serviceNames.has(text) === exists) return false;
    if (exists) this.#serviceNames.set(text, name);
    else this.#serviceNames.delete(text);
    const byHost = keys.servicesByHost(name.hostname);
    const others = (this.#graph.get(byHost) ?? []).filter((other) => other.namespace !== name.namespace);
    const names = exists ? [...others, name].sort((a, b) => compareText(a.namespace, b.namespace)) : others;
    this.#graph.set(byHost, names.length === 0 ? undefined : names);
    return true;
  }

  #publishServiceNames(): void {
    const names = [...this.#serviceNames].sort(([a], [b]) => compareText(a, b)).map(([, name]) => name);
    this.#graph.set(keys.serviceNames, names);
  }

  #applyEndpoints(change: EndpointsChange): void {
    const { shard, namespace, hostname } = change.key;
    const key = keys.endpoints({ namespace, hostname });
    const shards = new Map(this.#graph.get(key));
    const before = shards.get(shard) ?? [];
    const after = change.op === "put" ? change.value : [];
    if (change.op === "put") shards.set(shard, after);
    else shards.delete(shard);
    this.#graph.set(key, shards.size === 0 ? undefined : new Map([...shards].sort(([a], [b]) => compareText(a, b))));
    this.#trackAddresses({ shard, namespace, hostname }, before, after);
  }

  #trackAddresses(use: AddressUse, before: readonly Endpoint[], after: readonly Endpoint[]): void {
    const [old, now] = [addressesOf(before), addressesOf(after)];
    for (const address of new Set([...old, ...now])) {
      if (old.has(address) === now.has(address)) continue;
      const key = keys.address(address);
      const others = (this.#graph.get(key) ?? []).filter((other) => useText(other) !== useText(use));
      const uses = now.has(address) ? [...others, use].sort((a, b) => compareText(useText(a), useText(b))) : others;
      this.#graph.set(key, uses.length === 0 ? undefined : uses);
    }
  }
}

/** The inputs made from a ServiceEntry. */
function servicesOf({ key, spec }: Config): readonly string[] {
  if (key.kind !== "ServiceEntry") return [];
  return (spec as { readonly hosts: readonly string[] }).hosts.flatMap((hostname) => {
    const name = { namespace: key.namespace, hostname };
    return [keys.service(name), keys.endpoints(name)];
  });
}

function addressesOf(endpoints: readonly Endpoint[]): ReadonlySet<string> {
  return new Set(endpoints.flatMap((endpoint) => endpoint.addresses));
}

function useText({ hostname, namespace, shard }: AddressUse): string {
  return `${hostname}/${namespace}/${shard}`;
}

/**
 * Indexes over configuration objects. An index is a function from an object to row keys; the world keeps each row as one input of the
 * graph, so a change costs the rows it touches, and queries that read a row (an empty one too) are notified of it.
 * The graph's input keys. No other module spells one.
 * Long lists of keys, cut into slices: results for a slice are kept as long as the slice stays as it is. The cuts of a list depend on the
 * keys themselves: one that comes or goes changes its own slice and leaves the others as they are.
 */
import type { InputKey } from "@flotilla/incremental";
import type { KindReadBy } from "@flotilla/kinds";
import {
  type Branded,
  type Config,
  type ConfigKey,
  compareByAge,
  compareText,
  configKeyText,
  type Endpoint,
  fnv1a,
  parseShard,
  type Service,
  type TextOf,
  textCodec,
  type Workload,
} from "@flotilla/model";
import type { MeshConfig } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { MeshNetworks } from "@flotilla/proto/mesh/v1alpha1/network_pb";
import type { FeatureName, Features } from "./features.ts";

export interface RowIndex<Spec> {
  readonly name: string;
  readonly kind: KindReadBy<"xds-server">;
  /** The rows an object stands in. Must depend on the object alone. */
  readonly keysOf: (config: Config<Spec>) => readonly string[];
  /**
   * The content of a row in place of the object: the part of it that readers of the row depend on, as plain JSON. A change of anything else
   * does not touch the row.
   */
  readonly project?: (config: Config<Spec>) => Config;
}

/** Objects by their namespace. */
export function byNamespace<Spec>(kind: KindReadBy<"xds-server">): RowIndex<Spec> {
  return { name: `${kind}-by-namespace`, kind, keysOf: ({ key }) => [key.namespace] };
}

/**
 * Changes that a group makes to the rows of indexes. Each row is written once when the group is through: a mesh that is loaded costs its
 * objects, and not its objects times the length of their rows.
 */
export type RowKey = InputKey<readonly Config[]>;

interface RowChange {
  readonly gone: Set<Config>;
  readonly fresh: Set<Config>;
}

export class RowChanges {
  readonly #rows = new Map<RowKey, RowChange>();

  /** `before` stands in the row or was put there by this group; undefined adds or removes. */
  replace(key: RowKey, before: Config | undefined, after: Config | undefined): void {
    if (before === after) return;
    let change = this.#rows.get(key);
    if (change === undefined) {
      change = { gone: new Set(), fresh: new Set() };
      this.#rows.set(key, change);
    }
    if (before !== undefined && !change.fresh.delete(before)) change.gone.add(before);
    if (after !== undefined && !change.gone.delete(after)) change.fresh.add(after);
  }

  /** The rows that differ now, oldest object first; undefined for those that are empty. `current` gives a row as it was. */
  *rows(
    current: (key: RowKey) => readonly Config[] | undefined,
  ): Iterable<readonly [key: RowKey, row: readonly Config[] | undefined]> {
    for (const [key, { gone, fresh }] of this.#rows) {
      if (gone.size + fresh.size === 0) continue;
      const before = current(key) ?? [];
      const row = withFresh(gone.size === 0 ? before : before.filter((config) => !gone.has(config)), fresh);
      yield [key, row.length === 0 ? undefined : row];
    }
  }
}

/** More than these are sorted together with the row. */
const maxPlaced = 32;

/** A row of thousands in which one object changes is not sorted anew. */
function withFresh(kept: readonly Config[], fresh: ReadonlySet<Config>): readonly Config[] {
  if (fresh.size > maxPlaced) return [...kept, ...fresh].sort(compareByAge);
  const row = [...kept];
  for (const config of fresh) row.splice(placeOf(row, config), 0, config);
  return row;
}

/** Behind all that are as old or older. */
function placeOf(row: readonly Config[], config: Config): number {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = row[middle];
    if (other !== undefined && compareByAge(other, config) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The label that each service of a namespace selects by: a workload finds those that select it without checking all of them. */
export type SelectorPairs = ReadonlyMap<string, readonly [label: string, value: string]>;

/** Of each selector of a service's shards the first pair by name, by its text. */
export function selectorPairs(services: Iterable<Service>): SelectorPairs {
  const pairs = [...services].flatMap(({ labelSelectors = {} }) =>
    Object.entries(labelSelectors)
      .sort(([a], [b]) => compareText(a, b))
      .slice(0, 1),
  );
  return new Map(pairs.map((pair) => [pair.join("="), pair]));
}

/** A service as the registries have it, one element a shard and defining object (`shard|name`), in order of these. */
export type ServiceShards = ReadonlyMap<string, Service>;

/** The cluster of a key of `ServiceShards`. */
export function clusterOfShard(key: string): string {
  return parseShard(key.slice(0, key.indexOf("|"))).clusterId;
}

/** Endpoints by shard (`registry/cluster`). */
export type EndpointShards = ReadonlyMap<string, readonly Endpoint[]>;

export interface ServiceName {
  readonly namespace: string;
  readonly hostname: string;
}

/** The name of a service as an argument. */
export const serviceText = textCodec("ServiceName", "/", ["namespace", "hostname"]);
export type ServiceText = TextOf<typeof serviceText>;

/** A host name and a port as an argument. */
export const hostAndPort = textCodec("HostAndPort", "|", ["hostname", "port"]);
export type HostAndPort = TextOf<typeof hostAndPort>;

export interface AddressUse extends ServiceName {
  readonly shard: string;
}

export const keys = {
  config: (key: ConfigKey): InputKey<Config> => `config/${configKeyText(key)}`,
  allOf: (kind: string): InputKey<readonly Config[]> => `row/kind/${kind}`,
  row: (index: string, key: string): InputKey<readonly Config[]> => `row/${index}/${key}`,
  service: ({ namespace, hostname }: ServiceName): InputKey<ServiceShards> => `service/${namespace}/${hostname}`,
  /** All names, ordered by host name and namespace; changes only when a service comes or goes. */
  serviceNames: "service-names" as InputKey<readonly ServiceName[]>,
  /** The namespaces that have a service of this host name. */
  servicesByHost: (hostname: string): InputKey<readonly ServiceName[]> => `services-by-host/${hostname}`,
  /** The services of a namespace whose selector asks for a label, of several for the first by name. */
  selectorRow: (namespace: string, label: string, value: string): InputKey<readonly ServiceName[]> =>
    `selector/${namespace}/${label}=${value}`,
  endpoints: ({ namespace, hostname }: ServiceName): InputKey<EndpointShards> => `endpoints/${namespace}/${hostname}`,
  /** Services that have an endpoint at an address. */
  address: (address: string): InputKey<readonly AddressUse[]> => `address/${address}`,
  /** By uid. */
  workload: (uid: string): InputKey<Workload> => `workload/${uid}`,
  /** The uids of a namespace, sorted, in slices; changes only when a workload comes or goes. */
  workloadSlices: (namespace: string): InputKey<readonly SliceText[]> => `workload-slices/${namespace}`,
  /** The namespaces that have workloads, sorted. */
  workloadNamespaces: "workload-namespaces" as InputKey<readonly string[]>,
  /** The uids of the workloads of an address, sorted. */
  workloadsAt: (address: string): InputKey<readonly string[]> => `workloads-at/${address}`,
  mesh: "mesh" as InputKey<MeshConfig>,
  feature: <Name extends FeatureName>(name: Name): InputKey<Features[Name]> => `feature/${name}`,
  networks: "networks" as InputKey<MeshNetworks>,
};

/** About the square root of the keys of a large list. */
const keysPerSlice = 48;
const maxKeysPerSlice = 8 * keysPerSlice;

/** Stands between the keys of a slice; none holds one. */
const separator = "\n";

declare const keyType: unique symbol;

/** The keys of a slice. */
export type SliceText<Key extends string = string> = Branded<"Slice"> & { readonly [keyType]?: Key };

/** In order; equal lists give equal slices. */
export function sliceTexts<Key extends string>(keys: readonly Key[]): readonly SliceText<Key>[] {
  const texts: SliceText<Key>[] = [];
  let start = 0;
  keys.forEach((key, index) => {
    const count = index + 1 - start;
    if (count < maxKeysPerSlice && index + 1 < keys.length && !endsSlice(key)) return;
    texts.push(keys.slice(start, index + 1).join(separator) as SliceText<Key>);
    start = index + 1;
  });
  return texts;
}

export function sliceKeys<Key extends string>(text: SliceText<Key>): readonly Key[] {
  return text.split(separator) as Key[];
}

/**
 * The slices of a sorted list with one key more (`isThere`) or less: those that stay are the identical texts. As `sliceTexts` of the
 * whole list.
 */
export function changedSlices<Key extends string>(
  slices: readonly SliceText<Key>[],
  key: Key,
  isThere: boolean,
): readonly SliceText<Key>[] {
  const found = slices.findIndex((slice) => lastKey(slice) >= key);
  const at = found === -1 ? slices.length - 1 : found;
  // A key that ends slices ends them whatever stands before it: the keys between two of these are cut independently.
  const endsRun = (index: number) => {
    const slice = slices[index];
    const last = slice === undefined ? key : lastKey(slice);
    return endsSlice(last) && (isThere || last !== key);
  };
  let start = Math.max(at, 0);
  while (start > 0 && !endsRun(start - 1)) start--;
  let end = at;
  while (end < slices.length - 1 && !endsRun(end)) end++;
  const others = slices.slice(start, end + 1).flatMap((slice) => sliceKeys(slice).filter((one) => one !== key));
  const keys = isThere ? [...others, key].sort(compareText) : others;
  return [...slices.slice(0, start), ...sliceTexts(keys), ...slices.slice(end + 1)];
}

function lastKey<Key extends string>(text: SliceText<Key>): Key {
  return text.slice(text.lastIndexOf(separator) + 1) as Key;
}

/** Keys of one list differ in a few digits, of which the low bits of FNV-1a alone make few remainders: slices would be all short, or all long. */
function endsSlice(key: string): boolean {
  const hash = Math.imul(fnv1a(key), 0x9e3779b1);
  return (hash >>> 16) % keysPerSlice === 0;
}

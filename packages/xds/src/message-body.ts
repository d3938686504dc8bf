/**
 * What one message carries, without version and nonce: streams that need the same share the object.
 * What there is to send of one type: immutable, so that streams compare and share it by identity.
 */
import { checksum } from "@flotilla/model";
import { typeUrl as types } from "@flotilla/proto";
import { type Resource, SlicedResources } from "./sliced-resources.ts";
import { rulesOf } from "./type-rules.ts";

export type { Resource } from "./sliced-resources.ts";

export interface MessageBody {
  readonly typeUrl: string;
  readonly resources: readonly Resource[];
  /** Delta only. */
  readonly removed: readonly string[];
}

/**
 * Computes bodies and differences once per pair of sets, however many streams ask; keeps nothing
 * longer than the sets it is about.
 */
export class Bodies {
  readonly #diffs = new DiffCache();
  readonly #full = new WeakMap<ResourceSet, MessageBody>();
  readonly #delta = new WeakMap<SetDiff, MessageBody>();
  readonly #kept = new WeakMap<SetDiff, ResourceSet>();
  readonly #bound = new WeakMap<ResourceSet, WeakMap<ResourceSet, ResourceSet>>();

  diff(before: ResourceSet, after: ResourceSet): SetDiff {
    return this.#diffs.between(before, after);
  }

  full(set: ResourceSet): MessageBody {
    return memo(this.#full, set, () => ({ typeUrl: set.typeUrl, resources: [...set.byName.values()], removed: [] }));
  }

  delta(before: ResourceSet, after: ResourceSet): MessageBody {
    const diff = this.diff(before, after);
    return memo(this.#delta, diff, () => ({
      typeUrl: after.typeUrl,
      resources: diff.changed,
      removed: diff.removed,
    }));
  }

  /** `after` together with what only `before` has: the first half of make before break. */
  withoutRemovals(before: ResourceSet, after: ResourceSet): ResourceSet {
    const diff = this.diff(before, after);
    return memo(this.#kept, diff, () => {
      const byName = new Map(after.byName);
      for (const name of diff.removed) {
        const resource = before.byName.get(name);
        if (resource !== undefined) byName.set(name, resource);
      }
      return { typeUrl: after.typeUrl, version: `${after.version}+${before.version}`, byName };
    });
  }

  /** See `bindVersions`. */
  bind(endpoints: ResourceSet, clusters: ResourceSet): ResourceSet {
    const byClusters = memo(this.#bound, endpoints, () => new WeakMap<ResourceSet, ResourceSet>());
    return memo(byClusters, clusters, () => bindVersions(endpoints, clusters));
  }
}

/**
 * Envoy warms a cluster that changed and takes it into use when its endpoints come in, even if it had
 * the same ones for the cluster's old form (consul#10381, istio's EDS after CDS). So a load assignment is versioned
 * together with its cluster: whoever gets the one anew gets the other anew, on this stream or the next.
 */
function bindVersions(endpoints: ResourceSet, clusters: ResourceSet): ResourceSet {
  const byName = new Map<string, Resource>();
  let bindings = "";
  for (const [name, resource] of endpoints.byName) {
    const cluster = clusters.byName.get(name);
    bindings += `${cluster === undefined ? "" : bindingOf(cluster)};`;
    byName.set(name, cluster === undefined ? resource : bound(resource, cluster));
  }
  return { typeUrl: endpoints.typeUrl, version: `${endpoints.version.slice(0, 20)}${checksum(bindings)}`, byName };
}

const lastBound = new WeakMap<Resource, { readonly cluster: Resource; readonly bound: Resource }>();

/** The same object for the same two: when one endpoint of a thousand changes, the others are not made again. */
function bound(resource: Resource, cluster: Resource): Resource {
  const last = lastBound.get(resource);
  if (last?.cluster === cluster) return last.bound;
  const made = {
    name: resource.name,
    typeUrl: resource.typeUrl,
    version: `${resource.version.slice(0, 20)}${bindingOf(cluster)}`,
    // Resources may join their bytes when they are asked for: few of a set ever are.
    get bytes() {
      return resource.bytes;
    },
  };
  lastBound.set(resource, { cluster, bound: made });
  return made;
}

function bindingOf({ version }: Resource): string {
  return version.slice(0, 12);
}

/** State of the world has no word for "there is none": for endpoints an empty assignment says it. */
export function absentResource(typeUrl: string, name: string): Resource | undefined {
  if (typeUrl !== types.endpoint) return undefined;
  const text = new TextEncoder().encode(name);
  const length = text.length < 128 ? [text.length] : [(text.length & 127) | 128, text.length >> 7];
  return { name, typeUrl, version: "", bytes: Uint8Array.from([0x0a, ...length, ...text]) };
}

function memo<Key extends object, Value>(cache: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  let value = cache.get(key);
  if (value === undefined) {
    value = make();
    cache.set(key, value);
  }
  return value;
}

export interface ResourceSet {
  readonly typeUrl: string;
  /** A hash of the names and versions in it. */
  readonly version: string;
  /** In the order in which they are sent. */
  readonly byName: ReadonlyMap<string, Resource>;
}

const aliasIndexes = new WeakMap<ResourceSet, ReadonlyMap<string, readonly Resource[]>>();

/** What a set has for a name that a client asks for. */
export function resourcesFor(set: ResourceSet, name: string): readonly Resource[] {
  const own = set.byName.get(name);
  if (own !== undefined || rulesOf(set.typeUrl).aliased !== true) return own === undefined ? [] : [own];
  return memo(aliasIndexes, set, () => aliasIndex(set)).get(name) ?? [];
}

function aliasIndex({ byName }: ResourceSet): ReadonlyMap<string, readonly Resource[]> {
  const pairs = [...byName.values()].flatMap((resource) =>
    (resource.aliases ?? []).map((alias) => [alias, resource] as const),
  );
  const groups = Map.groupBy(pairs, ([alias]) => alias);
  return new Map([...groups].map(([alias, found]) => [alias, found.map(([, resource]) => resource)]));
}

export interface SetDiff {
  /** New or with another version, in the order of the later set. */
  readonly changed: readonly Resource[];
  /** Names that the later set no longer has. */
  readonly removed: readonly string[];
}

/** `before`: the version of each name the client has. */
export function diffVersions(before: ReadonlyMap<string, { readonly version: string }>, after: ResourceSet): SetDiff {
  const changed: Resource[] = [];
  for (const resource of after.byName.values()) {
    if (before.get(resource.name)?.version !== resource.version) changed.push(resource);
  }
  const removed: string[] = [];
  for (const name of before.keys()) if (!after.byName.has(name)) removed.push(name);
  return { changed, removed };
}

function diffSets({ byName: before }: ResourceSet, after: ResourceSet): SetDiff {
  const { byName } = after;
  if (!(before instanceof SlicedResources && byName instanceof SlicedResources)) return diffVersions(before, after);
  const { fresh, gone } = byName.differingFrom(before);
  const now = new Map(fresh.map(({ name, version }) => [name, version]));
  const old = new Map(gone.map(({ name, version }) => [name, version]));
  const changed: Resource[] = [];
  const removed: string[] = [];
  for (const name of new Set([...now.keys(), ...old.keys()])) {
    if (now.get(name) === old.get(name)) continue;
    // Patches may give one name to several resources: another one may stand in a slice that stayed, and count.
    const resource = byName.get(name);
    if (resource === undefined) removed.push(name);
    else if (before.get(name)?.version !== resource.version) changed.push(resource);
  }
  return { changed, removed };
}

/** The same objects for the same two sets: what streams share is computed once. */
class DiffCache {
  readonly #byTarget = new WeakMap<ResourceSet, WeakMap<ResourceSet, SetDiff>>();

  readonly between = (before: ResourceSet, after: ResourceSet): SetDiff => {
    let bySource = this.#byTarget.get(after);
    if (bySource === undefined) {
      bySource = new WeakMap();
      this.#byTarget.set(after, bySource);
    }
    let diff = bySource.get(before);
    if (diff === undefined) {
      diff = diffSets(before, after);
      bySource.set(before, diff);
    }
    return diff;
  };
}

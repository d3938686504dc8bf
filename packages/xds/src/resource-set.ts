/**
 * The resources of one type that a stream may get: immutable, so that streams compare and share it by identity. Sets made of slices that
 * follow each other share most of them, so that making one and finding what differs cost the slices and not the resources: a mesh of 12,000
 * workloads changes one at a time.
 */
import { checksum } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";

/** One resource as it travels: its bytes once, its version a hash of them. */
export interface Resource {
  readonly name: string;
  /** Of the resource's own message; nearly always the type that was asked for. */
  readonly typeUrl: string;
  /** Equal contents have equal versions, on every replica and after every restart. */
  readonly version: string;
  /** The resource's message, not wrapped in Any. */
  readonly bytes: Uint8Array;
  /** Other names by which clients may ask for it; they follow from the contents. */
  readonly aliases?: readonly string[];
}

export interface ResourceSet {
  readonly typeUrl: string;
  /** A hash of the names and versions in it. */
  readonly version: string;
  /** In the order in which they are sent. */
  readonly byName: ReadonlyMap<string, Resource>;
  /** Resources that should be there and cannot be made. */
  readonly failed?: FailedResources;
}

/** Errors by name. */
export type FailedResources = ReadonlyMap<string, unknown>;

/**
 * The set with those of the failed resources that a client has: it loses nothing because of a fault. The set itself where there are none.
 * @param before what the client has
 */
export function withFormer(set: ResourceSet, before: ResourceSet | undefined): ResourceSet {
  const former = [...(set.failed?.keys() ?? [])].flatMap((name) => before?.byName.get(name) ?? []);
  if (former.length === 0) return set;
  const byName = new Map([...set.byName.values(), ...former].map((resource) => [resource.name, resource]));
  const versions = former.map(({ name, version }) => `${name} ${version}\n`);
  return { ...set, byName, version: checksum([set.version, ...versions].join("\n")) };
}

export class ResourceSlice {
  readonly resources: readonly Resource[];
  #byName: ReadonlyMap<string, Resource> | undefined;

  constructor(resources: readonly Resource[]) {
    this.resources = resources;
  }

  /** The last of the name, as a table of all would have it. */
  get(name: string): Resource | undefined {
    this.#byName ??= new Map(this.resources.map((resource) => [resource.name, resource]));
    return this.#byName.get(name);
  }
}

/** With more look-ups than this, one table of all resources costs less than asking each slice. */
const lookupsWithoutTable = 64;

/** Of several resources of one name the last counts. */
export class SlicedResources implements ReadonlyMap<string, Resource> {
  /** No two resources have one name. */
  readonly isDistinct: boolean;
  readonly slices: readonly ResourceSlice[];
  #lookups = 0;
  #table: ReadonlyMap<string, Resource> | undefined;

  constructor(slices: readonly ResourceSlice[], { distinct = false } = {}) {
    this.slices = slices;
    this.isDistinct = distinct;
  }

  get size(): number {
    return this.#all.size;
  }

  get(name: string): Resource | undefined {
    if (this.#table !== undefined || ++this.#lookups > lookupsWithoutTable) return this.#all.get(name);
    for (let index = this.slices.length - 1; index >= 0; index--) {
      const found = this.slices[index]?.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /**
   * The resources in slices that `before` does not have, and in those of `before` that this does not have; some may be equal. Sets that follow
   * each other differ in one place, so all that stands before it and behind it is passed over.
   */
  differingFrom(before: SlicedResources): { readonly fresh: readonly Resource[]; readonly gone: readonly Resource[] } {
    const [ours, theirs] = differingPart(this.slices, before.slices);
    const [kept, lost] = [new Set(ours), new Set(theirs)];
    const fresh = ours.flatMap((slice) => (lost.has(slice) ? [] : slice.resources));
    const gone = theirs.flatMap((slice) => (kept.has(slice) ? [] : slice.resources));
    const [ownPart, otherPart] = differingPart(fresh, gone);
    return { fresh: ownPart, gone: otherPart };
  }

  forEach(callback: (value: Resource, key: string, map: ReadonlyMap<string, Resource>) => void): void {
    for (const [name, resource] of this.#all) callback(resource, name, this);
  }

  entries(): MapIterator<[string, Resource]> {
    return this.#all.entries();
  }

  keys(): MapIterator<string> {
    return this.#all.keys();
  }

  values(): MapIterator<Resource> {
    return this.#all.values();
  }

  [Symbol.iterator](): MapIterator<[string, Resource]> {
    return this.entries();
  }

  get #all(): ReadonlyMap<string, Resource> {
    if (this.#table === undefined) {
      const table = new Map<string, Resource>();
      for (const { resources } of this.slices) for (const one of resources) table.set(one.name, one);
      this.#table = table;
    }
    return this.#table;
  }
}

/** Two lists without their identical beginnings and ends. */
function differingPart<One>(a: readonly One[], b: readonly One[]): readonly [readonly One[], readonly One[]] {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return [a.slice(start, a.length - end), b.slice(start, b.length - end)];
}

const aliasIndexes = new WeakMap<ResourceSet, ReadonlyMap<string, readonly Resource[]>>();

/** The resources of a set for a name that a client requests. */
export function resourcesFor(set: ResourceSet, name: string): readonly Resource[] {
  const own = set.byName.get(name);
  if (own !== undefined || rulesOf(set.typeUrl).aliased !== true) return own === undefined ? [] : [own];
  return aliasIndex(set).get(name) ?? [];
}

function aliasIndex(set: ResourceSet): ReadonlyMap<string, readonly Resource[]> {
  const known = aliasIndexes.get(set);
  if (known !== undefined) return known;
  const pairs = [...set.byName.values()].flatMap((resource) =>
    (resource.aliases ?? []).map((alias) => [alias, resource] as const),
  );
  const groups = Map.groupBy(pairs, ([alias]) => alias);
  const index = new Map([...groups].map(([alias, found]) => [alias, found.map(([, resource]) => resource)]));
  aliasIndexes.set(set, index);
  return index;
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

/** Looks at the slices that differ where both sets are made of slices. */
export function diffSets({ byName: before }: ResourceSet, after: ResourceSet): SetDiff {
  const { byName } = after;
  if (!(before instanceof SlicedResources && byName instanceof SlicedResources)) return diffVersions(before, after);
  const { fresh, gone } = byName.differingFrom(before);
  if (before.isDistinct && byName.isDistinct) return distinctDiff(fresh, gone);
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

/** Of resources each of whose names is there once on either side. */
function distinctDiff(fresh: readonly Resource[], gone: readonly Resource[]): SetDiff {
  const old = new Map(gone.map(({ name, version }) => [name, version]));
  const changed = fresh.filter(({ name, version }) => old.get(name) !== version);
  for (const { name } of fresh) old.delete(name);
  return { changed, removed: [...old.keys()] };
}

/** Rules of the protocol for a type; one that is not listed is a wildcard type in no fixed order. */
export interface TypeRules {
  /** An empty first subscription means "everything" (else "nothing"). */
  readonly wildcard: boolean;
  /** State of the world: a response holds all resources, and others are deleted. */
  readonly complete: boolean;
  /** Place on a stream when several types are due: make before break. */
  readonly order: number;
  /** Clients do not answer its messages (istiod's for MeshConfig): nothing waits for that. */
  readonly unanswered?: boolean;
  /** Resources have other names beside their own, and a name that is asked for may stand for several of them. */
  readonly aliased?: boolean;
}

const ordered = [
  typeUrl.cluster,
  typeUrl.endpoint,
  typeUrl.extensionConfig,
  typeUrl.listener,
  typeUrl.route,
  typeUrl.scopedRoute,
  typeUrl.secret,
  typeUrl.address,
  typeUrl.workload,
  typeUrl.authorization,
];

const named: ReadonlySet<string> = new Set([typeUrl.endpoint, typeUrl.route, typeUrl.secret, typeUrl.extensionConfig]);

const rules = new Map<string, TypeRules>(
  ordered.map((url, order) => [url, { wildcard: !named.has(url), complete: !named.has(url), order }]),
);
const rest: TypeRules = { wildcard: true, complete: true, order: rules.size };
rules.set(typeUrl.meshConfig, { ...rest, unanswered: true });
for (const url of [typeUrl.address, typeUrl.workload]) rules.set(url, { ...rulesOf(url), aliased: true });

export function rulesOf(url: string): TypeRules {
  return rules.get(url) ?? rest;
}

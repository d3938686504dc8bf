/**
 * The content of one message, without version and nonce: streams that need the same share the object and its bytes. These are put together
 * from as little of the format as they need, since bytes of resources are never decoded or encoded again.
 */
import { checksum } from "@flotilla/model";
import { fieldSize, Parts, textSize, typeUrl as types } from "@flotilla/proto";
import {
  diffSets,
  type Resource,
  type ResourceSet,
  type ResourceSlice,
  type SetDiff,
  SlicedResources,
} from "./resource-set.ts";

export interface MessageBody {
  readonly typeUrl: string;
  readonly resources: readonly Resource[];
  /** The resources in slices, where a set is made of them. */
  readonly slices?: readonly ResourceSlice[];
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
    const { typeUrl, byName } = set;
    return memo(this.#full, set, () => ({
      ...{ typeUrl, resources: [...byName.values()], removed: [] },
      ...(byName instanceof SlicedResources && byName.isDistinct && { slices: byName.slices }),
    }));
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
 * Envoy warms a cluster that changed and takes it into use when its endpoints come in, even if it had the same ones for the cluster's old
 * form (consul#10381, istio's EDS after CDS). So a load assignment is versioned together with its cluster: a client that gets the one anew
 * gets the other anew, on this stream or the next.
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

/** State of the world cannot express "there is none": for endpoints an empty assignment does. */
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

/** The same objects for the same two sets: shared differences are computed once. */
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

/** A ControlPlane message with its identifier, or nothing. */
function controlPlane(parts: Parts, field: number, identifier: string): Parts {
  if (identifier === "") return parts;
  return parts.open(field, fieldSize(1, textSize(identifier))).text(1, identifier);
}

/** Fields of DeltaDiscoveryResponse and its Resource. */
const deltaField = { systemVersion: 1, resources: 2, typeUrl: 4, nonce: 5, removed: 6, controlPlane: 7 } as const;
const resourceField = { version: 1, resource: 2, name: 3, aliases: 4 } as const;
const any = { typeUrl: 1, value: 2 } as const;

/** All but version and nonce: the part that streams share. */
export function encodeDeltaBody({ typeUrl, resources, slices, removed }: MessageBody): Uint8Array {
  const parts = new Parts();
  if (slices === undefined) addDeltaResources(parts, resources);
  else for (const slice of slices) parts.raw(encodedSlice(slice));
  for (const name of removed) parts.textUnlessEmpty(deltaField.removed, name);
  return parts.textUnlessEmpty(deltaField.typeUrl, typeUrl).finish();
}

const encodedSlices = new WeakMap<ResourceSlice, Uint8Array>();

/**
 * The resources of a slice as a part of a delta message. Kept with the slice: who connects after a change gets thousands of resources, few of
 * them in another slice than before.
 */
export function encodedSlice(slice: ResourceSlice): Uint8Array {
  return memo(encodedSlices, slice, () => {
    const parts = new Parts();
    addDeltaResources(parts, slice.resources);
    return parts.finish();
  });
}

function addDeltaResources(parts: Parts, resources: readonly Resource[]): void {
  for (const { name, version, typeUrl: own, bytes, aliases = [] } of resources) {
    const sizes = { version: textSize(version), url: textSize(own), name: textSize(name) };
    const aliasSizes = aliases.map(textSize);
    const wrapped = fieldSize(any.typeUrl, sizes.url) + fieldSize(any.value, bytes.length);
    const size =
      fieldSize(resourceField.version, sizes.version) +
      fieldSize(resourceField.resource, wrapped) +
      fieldSize(resourceField.name, sizes.name) +
      aliasSizes.reduce((sum, length) => sum + fieldSize(resourceField.aliases, length), 0);
    parts.open(deltaField.resources, size);
    parts.text(resourceField.version, version, sizes.version);
    parts.open(resourceField.resource, wrapped).text(any.typeUrl, own, sizes.url).bytes(any.value, bytes);
    parts.text(resourceField.name, name, sizes.name);
    for (const [index, alias] of aliases.entries()) parts.text(resourceField.aliases, alias, aliasSizes[index]);
  }
}

/** `server`: who answers, in the words that clients show. */
export function encodeDeltaTail(version: string, nonce: string, server = ""): Uint8Array {
  const parts = new Parts().textUnlessEmpty(deltaField.systemVersion, version).textUnlessEmpty(deltaField.nonce, nonce);
  return controlPlane(parts, deltaField.controlPlane, server).finish();
}

/** Fields of DiscoveryResponse. */
const sotwField = { version: 1, resources: 2, typeUrl: 4, nonce: 5, controlPlane: 6 } as const;

/** All but version and nonce: the part that streams share. Fields of a message may come in any order. */
export function encodeSotwBody({ typeUrl, resources }: MessageBody): Uint8Array {
  const parts = new Parts();
  for (const { typeUrl: own, bytes } of resources) {
    const size = textSize(own);
    parts.open(sotwField.resources, fieldSize(any.typeUrl, size) + fieldSize(any.value, bytes.length));
    parts.text(any.typeUrl, own, size).bytes(any.value, bytes);
  }
  return parts.textUnlessEmpty(sotwField.typeUrl, typeUrl).finish();
}

/** `server`: who answers, in the words that clients show. */
export function encodeSotwTail(version: string, nonce: string, server = ""): Uint8Array {
  const parts = new Parts().textUnlessEmpty(sotwField.version, version).textUnlessEmpty(sotwField.nonce, nonce);
  return controlPlane(parts, sotwField.controlPlane, server).finish();
}

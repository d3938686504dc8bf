/** What there is to send of one type: immutable, so that streams compare and share it by identity. */

/** One resource as it travels: its bytes once, its version a hash of them. */
export interface Resource {
  readonly name: string;
  /** Of the resource's own message; nearly always the type that was asked for. */
  readonly typeUrl: string;
  /** Equal contents have equal versions, on every replica and after every restart. */
  readonly version: string;
  /** The resource's message, not wrapped in Any. */
  readonly bytes: Uint8Array;
}

export interface ResourceSet {
  readonly typeUrl: string;
  /** A hash of the names and versions in it. */
  readonly version: string;
  /** In the order in which they are sent. */
  readonly byName: ReadonlyMap<string, Resource>;
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

/** The same objects for the same two sets: what streams share is computed once. */
export class DiffCache {
  readonly #byTarget = new WeakMap<ResourceSet, WeakMap<ResourceSet, SetDiff>>();

  readonly between = (before: ResourceSet, after: ResourceSet): SetDiff => {
    let bySource = this.#byTarget.get(after);
    if (bySource === undefined) {
      bySource = new WeakMap();
      this.#byTarget.set(after, bySource);
    }
    let diff = bySource.get(before);
    if (diff === undefined) {
      diff = diffVersions(before.byName, after);
      bySource.set(before, diff);
    }
    return diff;
  };
}

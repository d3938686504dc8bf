/**
 * The resources of a set that is made of slices. Sets that follow each other share most slices, so that making one and finding what
 * differs cost the slices and not the resources: a mesh of 12,000 workloads changes one at a time.
 */

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
  readonly #slices: readonly ResourceSlice[];
  #lookups = 0;
  #table: ReadonlyMap<string, Resource> | undefined;

  constructor(slices: readonly ResourceSlice[]) {
    this.#slices = slices;
  }

  get size(): number {
    return this.#all.size;
  }

  get(name: string): Resource | undefined {
    if (this.#table !== undefined || ++this.#lookups > lookupsWithoutTable) return this.#all.get(name);
    for (let index = this.#slices.length - 1; index >= 0; index--) {
      const found = this.#slices[index]?.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** The resources in slices that `before` does not have, and in those of `before` that this does not have; some may be equal. */
  differingFrom(before: SlicedResources): { readonly fresh: readonly Resource[]; readonly gone: readonly Resource[] } {
    const [ours, theirs] = [new Set(this.#slices), new Set(before.#slices)];
    return {
      fresh: [...ours.difference(theirs)].flatMap(({ resources }) => resources),
      gone: [...theirs.difference(ours)].flatMap(({ resources }) => resources),
    };
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
      for (const { resources } of this.#slices) for (const one of resources) table.set(one.name, one);
      this.#table = table;
    }
    return this.#table;
  }
}

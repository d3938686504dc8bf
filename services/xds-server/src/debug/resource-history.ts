/**
 * The last changes of resources that were sent: from which content to which, and when. Views that share a set share
 * the change; the first resources of a connection are no change.
 */
import type { Resource, ResourceSet } from "@flotilla/xds";

export interface ResourceChange {
  readonly before: Resource | undefined;
  /** In the fleet's sequence: the old content reflects what came up to `from`, the new one what came up to `position`. */
  readonly from: number;
  readonly position: number;
  readonly atMs: number;
}

export interface SetChange {
  readonly before: ResourceSet;
  readonly after: ResourceSet;
  readonly from: number;
  /** Of `after`: new ones and those with another version. */
  readonly changed: () => readonly Resource[];
}

/** Versions on the wire may end in what they are bound to; the content has the rest. */
const contentDigits = 20;

export class ResourceHistory {
  readonly #maxChanges: number;
  readonly #changes = new Map<string, ResourceChange>();
  readonly #seen = new WeakMap<ResourceSet, WeakSet<ResourceSet>>();
  #last: Pick<SetChange, "before" | "after"> | undefined;

  constructor(maxChanges = 1_000) {
    this.#maxChanges = maxChanges;
  }

  /** Of the streams that make the same step, which may be all, the first is looked at. */
  note(change: SetChange, { position, atMs }: Pick<ResourceChange, "position" | "atMs">): void {
    const { before, after } = change;
    if (this.#last?.before === before && this.#last.after === after) return;
    this.#last = { before, after };
    const sources = this.#seen.get(after) ?? new WeakSet();
    if (sources.has(before)) return;
    this.#seen.set(after, sources.add(before));
    const { from, changed } = change;
    for (const resource of changed()) {
      const old = before.byName.get(resource.name);
      if (old !== undefined && contentOf(old) === contentOf(resource)) continue;
      this.#keep(keyOf(after.typeUrl, resource), { before: old, from, position, atMs });
    }
  }

  /** How a resource came to be what it is; undefined if it has not changed for as long as this remembers. */
  changeTo(typeUrl: string, resource: Pick<Resource, "name" | "version">): ResourceChange | undefined {
    return this.#changes.get(keyOf(typeUrl, resource));
  }

  #keep(key: string, change: ResourceChange): void {
    this.#changes.delete(key);
    this.#changes.set(key, change);
    const [oldest] = this.#changes.keys();
    if (this.#changes.size > this.#maxChanges && oldest !== undefined) this.#changes.delete(oldest);
  }
}

function keyOf(typeUrl: string, resource: Pick<Resource, "name" | "version">): string {
  return `${typeUrl}\n${resource.name}\n${contentOf(resource)}`;
}

function contentOf({ version }: Pick<Resource, "version">): string {
  return version.slice(0, contentDigits);
}

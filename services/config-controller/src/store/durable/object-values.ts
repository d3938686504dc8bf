/** The values of single objects, each written only over an older one. Unreadable values are left as they are, and reported. */
import type { KeyValue, KeyValueEntry, Seal } from "@flotilla/bus";
import { configKeyText, StoreError } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import { decodeObject, encodeObject, type StoredObject } from "./transaction.ts";

export interface ObjectValuesOptions {
  readonly values: KeyValue;
  readonly seal: Seal | undefined;
  readonly maxBytes: number;
}

const prefix = "object/";

export class ObjectValues {
  readonly #options: ObjectValuesOptions;
  /** As far as known here. */
  readonly #revisions = new Map<string, number>();
  #unreadable = new Map<string, string>();

  constructor(options: ObjectValuesOptions) {
    this.#options = options;
  }

  /** Why, by `Kind/namespace/name`. */
  get unreadable(): ReadonlyMap<string, string> {
    return this.#unreadable;
  }

  /** Of all values there are, those that are objects. */
  async read(entries: readonly KeyValueEntry[]): Promise<readonly StoredObject[]> {
    const timeSlice = new TimeSlice();
    const found: StoredObject[] = [];
    const unreadable = new Map<string, string>();
    for (const { key, value, revision } of entries) {
      if (timeSlice.isDue) await timeSlice.yield();
      if (!key.startsWith(prefix) || value === undefined) continue;
      this.#revisions.set(key, revision);
      try {
        found.push(decodeObject(value, this.#options.seal));
      } catch (error) {
        unreadable.set(key.slice(prefix.length), reasonOf(error));
      }
    }
    this.#unreadable = unreadable;
    return found;
  }

  /** @throws StoreError STORE_AWAY */
  async writeAll(objects: readonly StoredObject[]): Promise<void> {
    await Promise.all(objects.map((object) => this.write(object)));
  }

  /** Leaves one that is newer. @throws StoreError STORE_AWAY */
  async write(object: StoredObject): Promise<void> {
    const { values, seal, maxBytes } = this.#options;
    const place = `${prefix}${configKeyText(object.key)}`;
    const bytes = bounded(maxBytes, encodeObject(object, seal));
    for (;;) {
      const revision = await away(() => values.update(place, bytes, this.#revisions.get(place) ?? 0));
      if (revision !== undefined) {
        this.#revisions.set(place, revision);
        this.#unreadable.delete(place.slice(prefix.length));
        return;
      }
      const found = await away(() => values.get(place));
      this.#revisions.set(place, found?.revision ?? 0);
      if (found?.value !== undefined && this.#versionOf(found.value) >= object.version) return;
    }
  }

  /** One that cannot be read is older than any. */
  #versionOf(value: Uint8Array): number {
    try {
      return decodeObject(value, this.#options.seal).version;
    } catch {
      return 0;
    }
  }
}

/**
 * Failures of the bus, and of what rests there, as a store throws them. A bus that fails gives no answer. @throws StoreError
 * STORE_AWAY; `before`: what failed already, and may have been done nevertheless
 */
export async function away<T>(ask: () => Promise<T>, before?: unknown): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    const doubt = before === undefined ? "" : "; whether it is stored is not known";
    throw new StoreError("STORE_AWAY", undefined, `the bus does not answer: ${reasonOf(cause)}${doubt}`, { cause });
  }
}

/** @throws StoreError STORE_TOO_LARGE */
export function bounded(maxBytes: number, bytes: Uint8Array): Uint8Array {
  if (bytes.length <= maxBytes) return bytes;
  const reason = `what is written at once has ${bytes.length} bytes packed, the bus takes ${maxBytes}`;
  throw new StoreError("STORE_TOO_LARGE", undefined, reason);
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** Small things that services share, each with a revision: who holds a lease, which token is in use. */
import type { SetAside } from "./set-aside.ts";

/** Life of the values and how they are authenticated. */
export interface KeyValueOptions {
  /** Values vanish after this time unless they are written again. */
  readonly ttlMs?: number;
  /** Its values are sealed for their place by who writes them, which authenticates them. */
  readonly isSealed?: boolean;
  /** Values without a code, or with that of another key, are taken while it returns true. */
  readonly acceptsAny?: () => boolean;
}

/** A value with its revision. */
export interface KeyValueEntry {
  readonly key: string;
  /** Absent: it was deleted. */
  readonly value?: Uint8Array;
  /** Authenticates the value, where values are authenticated; in base64url. */
  readonly code?: string;
  /** Grows with each write in the bucket. */
  readonly revision: number;
}

/** A bucket. Updates are compare-and-set by revision: of two writers at once one fails. */
export interface KeyValue {
  /** Its name, for messages. */
  readonly bucket: string;
  /** Where `readValue` notes what it cannot read. */
  readonly setAside: Pick<SetAside, "note" | "heal">;
  get(key: string): Promise<KeyValueEntry | undefined>;
  /** Writes whatever is there. Resolves to the new revision. */
  put(key: string, value: Uint8Array, code?: string): Promise<number>;
  /** Writes if the last revision is this one, 0 for "there is none". Undefined: somebody else was faster. */
  update(key: string, value: Uint8Array, revision: number, code?: string): Promise<number | undefined>;
  delete(key: string): Promise<void>;
  /** All that is there, in order of revision. */
  entries(): Promise<readonly KeyValueEntry[]>;
  /** The present entries, then each change. Values that expire are not reported. */
  watch(stop: AbortSignal): AsyncIterable<KeyValueEntry>;
}

/**
 * The value of an entry, decoded where it enters. Undefined when there is nothing, or nothing that can be read: that is set aside by name,
 * and healed by the next good value.
 */
export function readValue<T>(
  { bucket, setAside }: Pick<KeyValue, "bucket" | "setAside">,
  entry: Pick<KeyValueEntry, "key" | "value"> | undefined,
  decode: (value: Uint8Array) => T,
): T | undefined {
  if (entry === undefined) return undefined;
  const place = `${bucket}/${entry.key}`;
  try {
    const value = entry.value === undefined ? undefined : decode(entry.value);
    setAside.heal(place);
    return value;
  } catch (error) {
    setAside.note(place, error);
    return undefined;
  }
}

/**
 * Shared values with a code over bucket, key and value. A value without a code, or with a wrong one, counts as absent: writers with the
 * right to the key overwrite it.
 */
import { timingSafeEqual } from "node:crypto";
import { BusError } from "./errors.ts";
import type { KeyValue, KeyValueEntry } from "./key-value.ts";
import type { Seal } from "./seal.ts";

/** @param acceptsAny see KeyValueOptions */
export function authenticatedKeyValue(values: KeyValue, seal: Seal, acceptsAny: () => boolean = () => false): KeyValue {
  const { bucket, setAside } = values;
  /** Revisions of values that are not authentic, by key: they are replaced in place of "there is none". */
  const refused = new Map<string, number>();
  const codeOf = (key: string, value: Uint8Array) => seal.mac("shared value", [bucket, key, value]);
  const signed = (key: string, value: Uint8Array) => codeOf(key, value).toString("base64url");
  const isAuthentic = ({ key, value, code }: KeyValueEntry): boolean => {
    if (value === undefined) return true;
    const [found, wanted] = [Buffer.from(code ?? "", "base64url"), codeOf(key, value)];
    return (found.length === wanted.length && timingSafeEqual(found, wanted)) || acceptsAny();
  };
  /** Notes what is refused. */
  const accept = (entry: KeyValueEntry): boolean => {
    const { key, revision } = entry;
    const place = `${bucket}/${key}`;
    if (isAuthentic(entry)) {
      if (refused.delete(key)) setAside.heal(place);
      return true;
    }
    refused.set(key, revision);
    const why = entry.code === undefined ? "its writer had no key" : "written with another key, or changed";
    setAside.note(place, new BusError("BUS_FORGED", `a value is not authentic: ${why}`));
    return false;
  };
  return {
    bucket,
    setAside,
    get: async (key) => {
      const entry = await values.get(key);
      return entry !== undefined && accept(entry) ? entry : undefined;
    },
    put: (key, value) => values.put(key, value, signed(key, value)),
    update: (key, value, revision) => {
      const expected = revision === 0 ? (refused.get(key) ?? 0) : revision;
      return values.update(key, value, expected, signed(key, value));
    },
    delete: (key) => values.delete(key),
    entries: async () => (await values.entries()).filter(accept),
    watch: (stop) => watch(values.watch(stop), accept),
  };
}

async function* watch(
  entries: AsyncIterable<KeyValueEntry>,
  accept: (entry: KeyValueEntry) => boolean,
): AsyncGenerator<KeyValueEntry> {
  for await (const entry of entries) if (accept(entry)) yield entry;
}

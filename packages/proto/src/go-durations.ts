/** Configuration may write durations as Go does (`1h30m`, `750ms`); protobuf JSON has seconds only (`5400s`). */
import type { JsonObject, JsonValue, Message } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { isJsonObject } from "./map-json-anys.ts";

type Descriptor = Pick<GenMessage<Message>, "typeName" | "fields">;

const seconds = /^-?\d+(?:\.\d{1,9})?s$/;
const goDuration = /^(-?)((?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+)$/;
const unitNanos: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };

/** The same JSON with durations in seconds; invalid durations stay as they are, for the reader to refuse. */
export function withSeconds(message: Descriptor, json: JsonValue): JsonValue {
  if (message.typeName === "google.protobuf.Duration") return typeof json === "string" ? inSeconds(json) : json;
  if (message.typeName.startsWith("google.protobuf.") || !isJsonObject(json)) return json;
  let changed: JsonObject | undefined;
  for (const field of message.fields) {
    const key = ownValue(json, field.jsonName) === undefined ? field.name : field.jsonName;
    const value = ownValue(json, key);
    const inner = field.message;
    if (value === undefined || value === null || inner === undefined) continue;
    const mapped = mapValues(field.fieldKind, value, (one) => withSeconds(inner, one));
    if (mapped !== value) changed = { ...(changed ?? json), [key]: mapped };
  }
  return changed ?? json;
}

/** Applies a change to a field's value or to each element of it; gives the same value back when nothing changes. */
function mapValues(kind: string, value: JsonValue, change: (one: JsonValue) => JsonValue): JsonValue {
  if (kind === "list" && Array.isArray(value)) {
    const mapped = value.map(change);
    return mapped.some((one, i) => one !== value[i]) ? mapped : value;
  }
  if (kind === "map" && isJsonObject(value)) {
    const mapped = Object.entries(value).map(([key, one]) => [key, change(one)] as const);
    return mapped.some(([key, one]) => one !== ownValue(value, key)) ? Object.fromEntries(mapped) : value;
  }
  return change(value);
}

function inSeconds(text: string): string {
  const [, sign = "", parts = ""] = seconds.test(text) ? [] : (goDuration.exec(text) ?? []);
  if (parts === "") return text;
  let nanos = 0n;
  for (const [, amount = "", unit = ""] of parts.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/gy)) {
    nanos += BigInt(Math.round(Number(amount) * (ownValue(unitNanos, unit) ?? 0)));
  }
  const fraction = (nanos % 1_000_000_000n).toString().padStart(9, "0");
  const digits = fraction.length - [...fraction].reverse().findIndex((digit) => digit !== "0");
  const isWhole = nanos % 1_000_000_000n === 0n;
  return `${sign}${nanos / 1_000_000_000n}${isWhole ? "" : `.${fraction.slice(0, digits)}`}s`;
}

/** Only what the record holds itself, never what every object inherits. */
function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

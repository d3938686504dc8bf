/**
 * Canonical protobuf JSON in both directions, with every Any resolved through the registry. An Any of
 * an unknown type survives: `{"@type": …, "value": base64 of its bytes}`.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type JsonValue,
  fromJson as libraryFromJson,
  toJson as libraryToJson,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Any, BytesValueSchema } from "@bufbuild/protobuf/wkt";
import { mapAnys } from "./map-anys.ts";
import { registry } from "./registry.ts";
import { typeNameOf, typeUrlOf } from "./type-url.ts";

export interface FromJsonOptions {
  /** Leave out what the message does not have, instead of refusing it. */
  readonly ignoreUnknownFields?: boolean;
}

export function toJson<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonValue {
  const printable = mapAnys(schema, message, hideUnknown) as MessageShape<Desc>;
  const json = libraryToJson(schema, printable, { registry });
  return printable === message ? json : mapJson(json, showHidden);
}

/** @throws when `json` is not of the message's form; the error names the field. */
export function fromJson<Desc extends DescMessage>(
  schema: Desc,
  json: JsonValue,
  options: FromJsonOptions = {},
): MessageShape<Desc> {
  const readable = mapJson(json, hideUnknownJson);
  const message = libraryFromJson(schema, readable, {
    registry,
    ignoreUnknownFields: options.ignoreUnknownFields ?? false,
  });
  return readable === json ? message : (mapAnys(schema, message, restoreHidden) as MessageShape<Desc>);
}

/** JSON of the message a type URL and bytes stand for. */
export function bytesToJson(typeUrl: string, bytes: Uint8Array): JsonValue {
  const desc = registry.getMessage(typeNameOf(typeUrl));
  if (desc === undefined) return { "@type": typeUrl, value: Buffer.from(bytes).toString("base64") };
  const json = toJson(desc, fromBinary(desc, bytes));
  const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
  return { "@type": typeUrl, ...(isObject ? (json as JsonObject) : { value: json }) };
}

/**
 * Unknown types travel through the library as BytesValue, with their type URL in front of the bytes:
 * the JSON form of a BytesValue within an Any is `value` with base64.
 */
const hidingPlace = typeUrlOf(BytesValueSchema.typeName);
const mark = "unknown Any: ";

function hideUnknown(any: Any): Any {
  if (any.typeUrl === "" || isKnown(any.typeUrl)) return any;
  const value = Buffer.concat([Buffer.from(`${mark}${any.typeUrl}\0`), any.value]);
  return { ...any, typeUrl: hidingPlace, value: toBinary(BytesValueSchema, create(BytesValueSchema, { value })) };
}

function restoreHidden(any: Any): Any {
  if (any.typeUrl !== hidingPlace) return any;
  const hidden = readHidden(Buffer.from(fromBinary(BytesValueSchema, any.value).value));
  return hidden === undefined ? any : { ...any, typeUrl: hidden.typeUrl, value: new Uint8Array(hidden.bytes) };
}

function hideUnknownJson({ "@type": type, value }: JsonObject): JsonObject | undefined {
  if (typeof type !== "string" || typeof value !== "string" || isKnown(type)) return undefined;
  const hidden = Buffer.concat([Buffer.from(`${mark}${type}\0`), Buffer.from(value, "base64")]);
  return { "@type": hidingPlace, value: hidden.toString("base64") };
}

function showHidden({ "@type": type, value }: JsonObject): JsonObject | undefined {
  if (type !== hidingPlace || typeof value !== "string") return undefined;
  const hidden = readHidden(Buffer.from(value, "base64"));
  return hidden && { "@type": hidden.typeUrl, value: hidden.bytes.toString("base64") };
}

function readHidden(bytes: Buffer): { readonly typeUrl: string; readonly bytes: Buffer } | undefined {
  const end = bytes.indexOf(0);
  if (end === -1 || !bytes.toString("utf8", 0, end).startsWith(mark)) return undefined;
  return { typeUrl: bytes.toString("utf8", mark.length, end), bytes: bytes.subarray(end + 1) };
}

function isKnown(typeUrl: string): boolean {
  return registry.getMessage(typeNameOf(typeUrl)) !== undefined;
}

/** Replaces objects at every depth; the very same value comes back when nothing was replaced. */
function mapJson(json: JsonValue, replace: (object: JsonObject) => JsonObject | undefined): JsonValue {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) {
    const items = json.map((item) => mapJson(item, replace));
    return items.some((item, i) => item !== json[i]) ? items : json;
  }
  const replaced = replace(json);
  if (replaced !== undefined) return replaced;
  const entries = Object.entries(json).map(([key, item]) => [key, mapJson(item, replace)] as const);
  return entries.some(([key, item]) => item !== json[key]) ? Object.fromEntries(entries) : json;
}

/**
 * Canonical protobuf JSON in both directions, with every Any resolved through the registry. An Any of
 * an unknown type survives: `{"@type": …, "value": base64 of its bytes}`.
 */
import {
  create,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  fromJson as libraryFromJson,
  toJson as libraryToJson,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type Any, AnySchema, BytesValueSchema, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { decode, encode } from "./encode.ts";
import { ProtoError } from "./errors.ts";
import { mapAnys } from "./map-anys.ts";
import { mapJsonAnys } from "./map-json-anys.ts";
import { registry } from "./registry.ts";
import { typeNameOf, typeUrlOf } from "./type-url.ts";

/** How strict JSON is read. */
export interface FromJsonOptions {
  /** Leave out what the message does not have, instead of refusing it. */
  readonly ignoreUnknownFields?: boolean;
}

/** @throws ProtoError when an Any of a known type holds bytes that are not of that type. */
export function toJson<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonValue {
  try {
    const printable = mapAnys(schema, message, hideUnknown) as MessageShape<Desc>;
    const json = libraryToJson(schema, printable, { registry });
    return printable === message ? json : mapJsonAnys(schema, json, showHidden);
  } catch (cause) {
    throw new ProtoError("PROTO_JSON", `cannot write ${schema.typeName} as JSON`, cause);
  }
}

/** Field names may be `lowerCamel` or as in the .proto. @throws ProtoError that names the field at fault. */
export function fromJson<Desc extends DescMessage>(
  schema: Desc,
  json: JsonValue,
  options: FromJsonOptions = {},
): MessageShape<Desc> {
  try {
    const readable = mapJsonAnys(schema, json, (any) => hideJson(any, options));
    const message = libraryFromJson(schema, readable, {
      registry,
      ignoreUnknownFields: options.ignoreUnknownFields ?? false,
    });
    return readable === json ? message : (mapAnys(schema, message, restoreHidden) as MessageShape<Desc>);
  } catch (cause) {
    throw new ProtoError("PROTO_JSON", `cannot read ${schema.typeName}`, cause);
  }
}

/** An Any as JSON with `@type`; of an unknown type its bytes in base64. */
export function anyToJson(any: Any): JsonValue {
  return toJson(AnySchema, any);
}

/** JSON of the message a type URL and bytes stand for. */
export function bytesToJson(typeUrl: string, value: Uint8Array): JsonValue {
  return anyToJson(create(AnySchema, { typeUrl, value }));
}

/**
 * Unknown types travel through the library as BytesValue, with their type URL in front of the bytes:
 * the JSON form of a BytesValue within an Any is `value` with base64.
 */
const hidingPlace = typeUrlOf(BytesValueSchema.typeName);
const mark = "unknown Any: ";
const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

function hideUnknown(any: Any): Any {
  if (any.typeUrl === "" || isKnown(any.typeUrl)) return any;
  const value = Buffer.concat([Buffer.from(`${mark}${any.typeUrl}\0`), any.value]);
  return { ...any, typeUrl: hidingPlace, value: encode(BytesValueSchema, { value }) };
}

function restoreHidden(any: Any): Any {
  if (any.typeUrl !== hidingPlace) return any;
  const hidden = readHidden(Buffer.from(decode(BytesValueSchema, any.value).value));
  return hidden === undefined ? any : { ...any, typeUrl: hidden.typeUrl, value: new Uint8Array(hidden.bytes) };
}

/**
 * Unknown types are bytes. A known type under a prefix of its own becomes bytes too, as the library would give it the usual prefix. Unknown
 * types with fields are left to the library, which refuses them by name.
 */
function hideJson({ "@type": type, ...fields }: JsonObject, options: FromJsonOptions): JsonObject | undefined {
  if (typeof type !== "string" || type === "") return undefined;
  const desc = registry.getMessage(typeNameOf(type));
  if (desc !== undefined && type === typeUrlOf(desc.typeName)) return undefined;
  const bytes = desc === undefined ? bytesOf(fields) : encode(desc, fromJson(desc, contentOf(desc, fields), options));
  if (bytes === undefined) return undefined;
  const hidden = Buffer.concat([Buffer.from(`${mark}${type}\0`), bytes]);
  return { "@type": hidingPlace, value: hidden.toString("base64") };
}

function bytesOf({ value, ...fields }: JsonObject): Buffer | undefined {
  const isBytes = typeof value === "string" && base64.test(value) && Object.keys(fields).length === 0;
  return isBytes ? Buffer.from(value, "base64") : undefined;
}

function contentOf(desc: DescMessage, fields: JsonObject): JsonValue {
  return hasCustomJsonRepresentation(desc) ? (fields["value"] ?? null) : fields;
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

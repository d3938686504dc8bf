/**
 * Deterministic binary encoding: fields by number, map entries by key, so that equal messages give
 * equal bytes. Each message type is compiled once into a list of field writers.
 */
import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { WireWriter } from "./wire-writer.ts";

type Fields = Readonly<Record<string, unknown>>;
type WriteValue = (writer: WireWriter, value: never) => void;
type WriteMessage = (writer: WireWriter, message: Fields) => void;

const compiled = new Map<string, WriteMessage>();
const shared = new WireWriter();

export function encode<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array {
  try {
    writerOf(schema)(shared, message as Message as unknown as Fields);
  } catch (cause) {
    shared.finish();
    throw new Error(`[PROTO_ENCODE] cannot encode ${schema.typeName}`, { cause });
  }
  return shared.finish();
}

function writerOf(desc: DescMessage): WriteMessage {
  const known = compiled.get(desc.typeName);
  if (known !== undefined) return known;
  const steps: WriteMessage[] = [];
  const writeMessage: WriteMessage = (writer, message) => {
    for (const step of steps) step(writer, message);
    const unknown = message["$unknown"] as readonly { no: number; wireType: number; data: Uint8Array }[] | undefined;
    if (unknown !== undefined)
      for (const { no, wireType, data } of unknown) {
        writer.uint32((no << 3) | wireType);
        writer.raw(data);
      }
  };
  // Known before its fields are compiled: messages may contain themselves.
  compiled.set(desc.typeName, writeMessage);
  for (const field of [...desc.fields].sort((a, b) => a.number - b.number)) steps.push(fieldWriter(field));
  return writeMessage;
}

function fieldWriter(field: DescField): WriteMessage {
  const { localName } = field;
  if (field.fieldKind === "map") return mapWriter(field);
  if (field.fieldKind === "list") return listWriter(field);
  const write = tagged(field.number, singularWriter(field));
  if (field.oneof !== undefined) {
    const { localName: group } = field.oneof;
    return (writer, message) => {
      const chosen = message[group] as { case?: string; value?: unknown };
      if (chosen.case === localName) write(writer, chosen.value as never);
    };
  }
  // Explicit presence: undefined means unset. proto2 defaults lie on the prototype and count as unset.
  if (field.fieldKind === "message" || field.presence !== 2) {
    return (writer, message) => {
      if (Object.hasOwn(message, localName) && message[localName] !== undefined)
        write(writer, message[localName] as never);
    };
  }
  return (writer, message) => {
    const value = message[localName];
    if (!isZero(value)) write(writer, value as never);
  };
}

function isZero(value: unknown): boolean {
  if (typeof value === "number") return value === 0 && !Object.is(value, -0);
  return (
    value === false ||
    value === "" ||
    value === 0n ||
    value === undefined ||
    (value instanceof Uint8Array && value.length === 0)
  );
}

function listWriter(field: DescField & { fieldKind: "list" }): WriteMessage {
  const { localName } = field;
  const element =
    field.listKind === "message"
      ? messageWriter(field.message)
      : scalarWriter(field.listKind === "enum" ? ScalarType.INT32 : field.scalar);
  const write = tagged(field.number, element);
  if (!field.packed) {
    return (writer, message) => {
      for (const value of message[localName] as readonly never[]) write(writer, value);
    };
  }
  const all = (writer: WireWriter, values: readonly never[]) => {
    for (const value of values) element.write(writer, value);
  };
  return (writer, message) => {
    const values = message[localName] as readonly never[];
    if (values.length === 0) return;
    writer.uint32((field.number << 3) | 2);
    writer.delimited(all, values);
  };
}

function mapWriter(field: DescField & { fieldKind: "map" }): WriteMessage {
  const key = tagged(1, scalarWriter(field.mapKey));
  const value = tagged(
    2,
    field.mapKind === "message"
      ? messageWriter(field.message)
      : scalarWriter(field.mapKind === "enum" ? ScalarType.INT32 : field.scalar),
  );
  const entry = (writer: WireWriter, [k, v]: readonly [string, never]) => {
    key(writer, mapKeyOf(field.mapKey, k) as never);
    value(writer, v);
  };
  return (writer, message) => {
    const entries = Object.entries(message[field.localName] as Readonly<Record<string, never>>);
    if (entries.length > 1) entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    for (const pair of entries) {
      writer.uint32((field.number << 3) | 2);
      writer.delimited(entry, pair);
    }
  };
}

/** Map keys are property names, hence text. */
function mapKeyOf(type: ScalarType, key: string): unknown {
  if (type === ScalarType.STRING) return key;
  if (type === ScalarType.BOOL) return key === "true";
  return [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64].includes(
    type,
  )
    ? BigInt(key)
    : Number(key);
}

interface ElementWriter {
  readonly wireType: number;
  readonly write: WriteValue;
}

function tagged(number: number, { wireType, write }: ElementWriter): WriteValue {
  const tag = (number << 3) | wireType;
  return (writer, value) => {
    writer.uint32(tag);
    write(writer, value);
  };
}

function singularWriter(field: DescField): ElementWriter {
  if (field.fieldKind === "enum") return scalarWriter(ScalarType.INT32);
  if (field.fieldKind === "scalar") return scalarWriter(field.scalar);
  if (field.fieldKind !== "message") throw new TypeError(`${field.name} is not singular`);
  const { message } = field;
  // The library keeps wrappers and Struct unwrapped in singular fields outside of oneofs.
  if (isWrapperDesc(message) && field.oneof === undefined) return wrapperWriter(message);
  return messageWriter(message, field.parent);
}

function messageWriter(desc: DescMessage, parent?: DescMessage): ElementWriter {
  if (desc.typeName === "google.protobuf.Struct" && parent?.typeName !== "google.protobuf.Value") return struct;
  const write = writerOf(desc);
  return { wireType: 2, write: (writer, value) => writer.delimited(write, value as Fields) };
}

function wrapperWriter(desc: DescMessage): ElementWriter {
  const write = writerOf(desc);
  return { wireType: 2, write: (writer, value) => writer.delimited(write, { value } as Fields) };
}

/** google.protobuf.Struct, which the library keeps as plain JSON wherever it is a field. */
const struct: ElementWriter = {
  wireType: 2,
  write: (writer, value: JsonObject) => writer.delimited(writeStruct, value),
};

function writeStruct(writer: WireWriter, value: JsonObject): void {
  for (const key of Object.keys(value).sort()) {
    writer.uint32((1 << 3) | 2);
    writer.delimited(writeStructEntry, [key, value[key] ?? null]);
  }
}

function writeStructEntry(writer: WireWriter, [key, value]: readonly [string, JsonValue]): void {
  writer.uint32((1 << 3) | 2);
  writer.string(key);
  writer.uint32((2 << 3) | 2);
  writer.delimited(writeJsonValue, value);
}

/** google.protobuf.Value: null 1, number 2, string 3, bool 4, struct 5, list 6. */
function writeJsonValue(writer: WireWriter, value: JsonValue): void {
  if (value === null) {
    writer.uint32(1 << 3);
    writer.uint32(0);
  } else if (typeof value === "number") {
    writer.uint32((2 << 3) | 1);
    writer.double(value);
  } else if (typeof value === "string") {
    writer.uint32((3 << 3) | 2);
    writer.string(value);
  } else if (typeof value === "boolean") {
    writer.uint32(4 << 3);
    writer.uint32(value ? 1 : 0);
  } else if (Array.isArray(value)) {
    writer.uint32((6 << 3) | 2);
    writer.delimited(writeJsonList, value);
  } else {
    writer.uint32((5 << 3) | 2);
    writer.delimited(writeStruct, value);
  }
}

function writeJsonList(writer: WireWriter, values: readonly JsonValue[]): void {
  for (const value of values) {
    writer.uint32((1 << 3) | 2);
    writer.delimited(writeJsonValue, value);
  }
}

const scalars: Readonly<Record<ScalarType, ElementWriter>> = {
  [ScalarType.DOUBLE]: { wireType: 1, write: (w, v: number) => w.double(v) },
  [ScalarType.FLOAT]: { wireType: 5, write: (w, v: number) => w.float(v) },
  [ScalarType.INT64]: { wireType: 0, write: (w, v: bigint) => w.int64(v) },
  [ScalarType.UINT64]: { wireType: 0, write: (w, v: bigint) => w.int64(v) },
  [ScalarType.INT32]: { wireType: 0, write: (w, v: number) => w.int32(v) },
  [ScalarType.FIXED64]: { wireType: 1, write: (w, v: bigint) => w.fixed64(v) },
  [ScalarType.FIXED32]: { wireType: 5, write: (w, v: number) => w.fixed32(v) },
  [ScalarType.BOOL]: { wireType: 0, write: (w, v: boolean) => w.uint32(v ? 1 : 0) },
  [ScalarType.STRING]: { wireType: 2, write: (w, v: string) => w.string(v) },
  [ScalarType.BYTES]: { wireType: 2, write: (w, v: Uint8Array) => w.bytes(v) },
  [ScalarType.UINT32]: { wireType: 0, write: (w, v: number) => w.uint32(v) },
  [ScalarType.SFIXED32]: { wireType: 5, write: (w, v: number) => w.fixed32(v) },
  [ScalarType.SFIXED64]: { wireType: 1, write: (w, v: bigint) => w.fixed64(v) },
  [ScalarType.SINT32]: { wireType: 0, write: (w, v: number) => w.uint32(((v << 1) ^ (v >> 31)) >>> 0) },
  [ScalarType.SINT64]: { wireType: 0, write: (w, v: bigint) => w.int64((v << 1n) ^ (v >> 63n)) },
};

function scalarWriter(type: ScalarType): ElementWriter {
  return scalars[type];
}

/** Messages of any type with random content, for tests of what must hold for all of them. */
import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { type Any, anyPack, DurationSchema, isWrapperDesc, ListValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { fromJson } from "../json.ts";

export interface RandomOptions {
  readonly depth: number;
  /** Entries of a map and of a Struct. */
  readonly maxEntries: number;
}

export function randomMessage(desc: DescMessage, random: () => number, options: RandomOptions): Message {
  const known = wellKnown(desc, random, options);
  if (known !== undefined) return known;
  const init: Record<string, unknown> = {};
  for (const member of desc.members) {
    if (random() < 0.4) continue;
    const value = member.kind === "oneof" ? choice(member, random, options) : fieldValue(member, random, options);
    if (value !== undefined) init[member.localName] = value;
  }
  return create(desc, init as never);
}

/** Types whose JSON form allows less than their fields do. */
function wellKnown(desc: DescMessage, random: () => number, options: RandomOptions): Message | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Duration":
    case "google.protobuf.Timestamp":
      return create(desc, { seconds: BigInt(below(random, 1e9)), nanos: below(random, 1e9) } as never);
    case "google.protobuf.FieldMask":
      return create(desc, { paths: ["one.two", "threeFour"].map((path) => path.toLowerCase()) } as never);
    case "google.protobuf.Value":
      return fromJson(ValueSchema, randomJson(random, options, 2));
    case "google.protobuf.ListValue":
      return fromJson(ListValueSchema, [randomJson(random, options, 1), randomJson(random, options, 1)]);
    case "google.protobuf.Any":
      return randomAny(desc, random);
    default:
      return undefined;
  }
}

function randomAny(desc: DescMessage, random: () => number): Message {
  if (random() < 0.3) return create(desc, { typeUrl: "test/not.Known", value: new Uint8Array([1, 2, 255]) } as never);
  const any: Any = anyPack(DurationSchema, create(DurationSchema, { seconds: BigInt(below(random, 100)) }));
  return any;
}

function choice(oneof: DescOneof, random: () => number, options: RandomOptions): unknown {
  const field = pick(oneof.fields, random);
  if (field.fieldKind === "message" && options.depth === 0) return undefined;
  return { case: field.localName, value: singular(field, random, options) };
}

function fieldValue(field: DescField, random: () => number, options: RandomOptions): unknown {
  if (field.message !== undefined && options.depth === 0) return undefined;
  if (field.fieldKind === "list") {
    return Array.from({ length: below(random, 4) }, () => element(field, random, options));
  }
  if (field.fieldKind === "map") {
    const entries = Array.from({ length: below(random, options.maxEntries + 1) }, (_, i) => [
      field.mapKey === ScalarType.STRING
        ? `${i}${randomText(random)}`
        : field.mapKey === ScalarType.BOOL
          ? "true"
          : `${i}`,
      element(field, random, options),
    ]);
    return Object.fromEntries(entries) as unknown;
  }
  return singular(field, random, options);
}

function singular(field: DescField, random: () => number, options: RandomOptions): unknown {
  if (field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message)) {
    return scalar(field.message.fields[0]?.scalar ?? ScalarType.STRING, random);
  }
  return element(field, random, options);
}

function element(field: DescField, random: () => number, options: RandomOptions): unknown {
  if (field.message !== undefined) {
    const isPlain = field.message.typeName === "google.protobuf.Struct" && !field.parent.typeName.endsWith("f.Value");
    if (isPlain) return randomStruct(random, options, 2);
    return randomMessage(field.message, random, { ...options, depth: options.depth - 1 });
  }
  if (field.enum !== undefined) return pick(field.enum.values, random).number;
  return scalar(field.scalar ?? ScalarType.STRING, random);
}

function scalar(type: ScalarType, random: () => number): unknown {
  switch (type) {
    case ScalarType.STRING:
      return randomText(random);
    case ScalarType.BYTES:
      return Uint8Array.from({ length: below(random, 200) }, () => below(random, 256));
    case ScalarType.BOOL:
      return random() < 0.5;
    case ScalarType.DOUBLE:
      return pick([0, -0, 1.5, -1e300, random(), Number.POSITIVE_INFINITY], random);
    case ScalarType.FLOAT:
      return Math.fround(pick([0, -0, 1.5, -1e30, random()], random));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return pick([0, 1, -1, 127, 128, -(2 ** 31), 2 ** 31 - 1, below(random, 2 ** 31)], random);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return pick([0, 1, 127, 128, 2 ** 14, 2 ** 21, 2 ** 28, 2 ** 32 - 1, below(random, 2 ** 32)], random);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return pick([0n, 1n, 127n, 128n, 2n ** 35n, 2n ** 63n, 2n ** 64n - 1n], random);
    default:
      return pick([0n, 1n, -1n, 2n ** 35n, 2n ** 63n - 1n, -(2n ** 63n)], random);
  }
}

function randomStruct(random: () => number, options: RandomOptions, depth: number): Record<string, JsonValue> {
  const length = below(random, options.maxEntries + 1);
  return Object.fromEntries(
    Array.from({ length }, (_, i) => [`${9 - i}${randomText(random)}`, randomJson(random, options, depth - 1)]),
  );
}

function randomJson(random: () => number, options: RandomOptions, depth: number): JsonValue {
  const plain: readonly JsonValue[] = [null, true, false, random(), -3, randomText(random)];
  if (depth <= 0 || random() < 0.5) return pick(plain, random);
  return random() < 0.5 ? randomStruct(random, options, depth) : [randomJson(random, options, depth - 1), null];
}

function randomText(random: () => number): string {
  const alphabet = pick(["abc/._-|", "aé", "漢字", "a😀", '\u0000\n"'], random);
  return Array.from({ length: pick([0, 1, 5, 47, 48, 49, 200], random) }, () => pick([...alphabet], random)).join("");
}

function below(random: () => number, limit: number): number {
  return Math.floor(random() * limit);
}

function pick<T>(items: readonly T[], random: () => number): T {
  const item = items[below(random, items.length)];
  if (item === undefined) throw new RangeError("nothing to pick from");
  return item;
}

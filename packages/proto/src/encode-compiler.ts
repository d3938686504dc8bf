/**
 * Compiles a message type into straight-line code that writes it backwards, last field first.
 *
 * The code is made as text because property names that the engine sees literally are what makes it
 * fast: closures over names share one body, in which every property access meets every shape
 * (measured in README.md). Its only input is the committed descriptor set; names are identifiers.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import type { WireWriter } from "./wire-writer.ts";

/** Writes messages of one type. */
export interface MessageWriter {
  write(writer: WireWriter, message: object): void;
}

const writers = new WeakMap<DescMessage, MessageWriter>();

/** The type's code is made at its first use: types refer to hundreds of others, few of which occur. */
export function compileWriter(desc: DescMessage): MessageWriter {
  const known = writers.get(desc);
  if (known !== undefined) return known;
  const writer: MessageWriter = {
    write(wire, message) {
      writer.write = compile(desc);
      writer.write(wire, message);
    },
  };
  writers.set(desc, writer);
  return writer;
}

function compile(desc: DescMessage): MessageWriter["write"] {
  const others: MessageWriter[] = [];
  const code = [
    "let v;",
    "v = m.$unknown;",
    "if (v !== undefined) for (let i = v.length - 1; i >= 0; i--) { w.raw(v[i].data); w.uint32((v[i].no << 3) | v[i].wireType); }",
  ];
  const reference = (other: DescMessage) => `m${others.push(compileWriter(other)) - 1}`;
  const fields = [...desc.fields].sort((a, b) => b.number - a.number);
  for (const field of fields) code.push(fieldCode(field, reference));
  const parameters = others.map((_, i) => `m${i}`);
  const make = new Function(...parameters, `return function write(w, m) {\n${code.join("\n")}\n};`);
  return make(...others) as MessageWriter["write"];
}

type Reference = (desc: DescMessage) => string;

function fieldCode(field: DescField, reference: Reference): string {
  if (field.fieldKind === "list") return listCode(field, reference);
  if (field.fieldKind === "map") return mapCode(field, reference);
  const value = singularValue(field, reference);
  const write = `${value.write("v")} ${tag(field.number, value)}`;
  const name = JSON.stringify(field.localName);
  if (field.oneof !== undefined) {
    const group = JSON.stringify(field.oneof.localName);
    return `v = m[${group}]; if (v !== undefined && v.case === ${name}) { v = v.value; ${write} }`;
  }
  return `v = m[${name}]; if (${presence(field)}) { ${write} }`;
}

function presence(field: DescField): string {
  // Outside of proto3, defaults lie on the prototype and count as unset.
  const isProto3 = field.parent.file.edition === 999;
  if (field.fieldKind === "message") return "v !== undefined";
  if (field.presence !== 2) {
    return isProto3 ? "v !== undefined" : `v !== undefined && Object.hasOwn(m, ${JSON.stringify(field.localName)})`;
  }
  if (field.fieldKind === "enum") return `v !== undefined && v !== ${field.enum.values[0]?.number ?? 0}`;
  switch (field.scalar) {
    case ScalarType.STRING:
      return 'v !== undefined && v !== ""';
    case ScalarType.BYTES:
      return "v !== undefined && v.length > 0";
    case ScalarType.BOOL:
      return "v === true";
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return "v !== undefined && !Object.is(v, 0)";
    default:
      return "v !== undefined && v != 0"; // 0 or 0n
  }
}

/** How one value is written: the statement, and the wire type of its tag. */
interface ValueCode {
  readonly wireType: number;
  write(variable: string): string;
}

const tag = (number: number, { wireType }: { readonly wireType: number }) => `w.uint32(${(number << 3) | wireType});`;

function singularValue(field: DescField, reference: Reference): ValueCode {
  if (field.fieldKind === "enum") return scalarValue(ScalarType.INT32);
  if (field.fieldKind === "scalar") return scalarValue(field.scalar);
  if (field.fieldKind !== "message") throw new TypeError(`${field.name} is not singular`);
  if (field.delimitedEncoding) throw new TypeError(`${field.name} is a group, which no known message has`);
  // The library keeps wrappers unwrapped in singular fields outside of oneofs.
  if (isWrapperDesc(field.message) && field.oneof === undefined) {
    const other = reference(field.message);
    return delimited((variable) => `${other}.write(w, { value: ${variable} });`);
  }
  return messageValue(field.message, reference, field.parent);
}

function messageValue(desc: DescMessage, reference: Reference, parent?: DescMessage): ValueCode {
  // The library keeps Struct as plain JSON wherever it is a field, but for Value's own.
  if (desc.typeName === "google.protobuf.Struct" && parent?.typeName !== "google.protobuf.Value") {
    return delimited((variable) => `w.struct(${variable});`);
  }
  const other = reference(desc);
  return delimited((variable) => `${other}.write(w, ${variable});`);
}

function delimited(content: (variable: string) => string): ValueCode {
  return { wireType: 2, write: (variable) => `{ const e = w.mark(); ${content(variable)} w.length(e); }` };
}

function listCode(field: DescField & { fieldKind: "list" }, reference: Reference): string {
  const element =
    field.listKind === "message"
      ? messageValue(field.message, reference)
      : scalarValue(field.listKind === "enum" ? ScalarType.INT32 : field.scalar);
  const loop = (body: string) => `for (let i = v.length - 1; i >= 0; i--) { ${body} }`;
  const read = `v = m[${JSON.stringify(field.localName)}]; if (v !== undefined && v.length > 0) `;
  if (!field.packed) return `${read}${loop(`const x = v[i]; ${element.write("x")} ${tag(field.number, element)}`)}`;
  const elements = delimited(() => loop(element.write("v[i]")));
  return `${read}{ ${elements.write("v")} ${tag(field.number, elements)} }`;
}

function mapCode(field: DescField & { fieldKind: "map" }, reference: Reference): string {
  const key = scalarValue(field.mapKey);
  const value =
    field.mapKind === "message"
      ? messageValue(field.message, reference)
      : scalarValue(field.mapKind === "enum" ? ScalarType.INT32 : field.scalar);
  const entry = delimited(
    () => `${value.write("x")} ${tag(2, value)} ${key.write(keyCode(field.mapKey))} ${tag(1, key)}`,
  );
  return [
    `v = m[${JSON.stringify(field.localName)}]; if (v !== undefined) {`,
    "const keys = Object.keys(v); if (keys.length > 1) keys.sort();",
    `for (let i = keys.length - 1; i >= 0; i--) { const k = keys[i], x = v[k]; ${entry.write("x")} ${tag(field.number, entry)} }`,
    "}",
  ].join(" ");
}

/** Map keys are property names, hence text. */
function keyCode(type: ScalarType): string {
  if (type === ScalarType.STRING) return "k";
  if (type === ScalarType.BOOL) return 'k === "true"';
  return scalars[type].isLong === true ? "BigInt(k)" : "Number(k)";
}

interface Scalar {
  readonly wireType: number;
  /** The method of WireWriter. */
  readonly method: keyof WireWriter;
  readonly isLong?: true;
}

const scalars: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.DOUBLE]: { wireType: 1, method: "double" },
  [ScalarType.FLOAT]: { wireType: 5, method: "float" },
  [ScalarType.INT64]: { wireType: 0, method: "int64", isLong: true },
  [ScalarType.UINT64]: { wireType: 0, method: "int64", isLong: true },
  [ScalarType.INT32]: { wireType: 0, method: "int32" },
  [ScalarType.FIXED64]: { wireType: 1, method: "fixed64", isLong: true },
  [ScalarType.FIXED32]: { wireType: 5, method: "fixed32" },
  [ScalarType.BOOL]: { wireType: 0, method: "bool" },
  [ScalarType.STRING]: { wireType: 2, method: "string" },
  [ScalarType.BYTES]: { wireType: 2, method: "bytes" },
  [ScalarType.UINT32]: { wireType: 0, method: "uint32" },
  [ScalarType.SFIXED32]: { wireType: 5, method: "fixed32" },
  [ScalarType.SFIXED64]: { wireType: 1, method: "fixed64", isLong: true },
  [ScalarType.SINT32]: { wireType: 0, method: "sint32" },
  [ScalarType.SINT64]: { wireType: 0, method: "sint64", isLong: true },
};

function scalarValue(type: ScalarType): ValueCode {
  const { wireType, method } = scalars[type];
  return { wireType, write: (variable) => `w.${method}(${variable});` };
}

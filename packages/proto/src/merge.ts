/**
 * Protobuf's own merge: set scalars replace, lists append, messages recurse, maps join by key (values
 * replace), oneofs replace unless both hold the same message. A wrapper that holds zero changes nothing,
 * as a message without set fields does not (Istio's EnvoyFilter shows this behaviour to its users).
 */
import { clone, type DescField, type DescMessage, type DescOneof, type MessageShape } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";

/** Types that are replaced instead of merged. */
export interface MergeOptions {
  /** Names of message types that replace as a whole, such as google.protobuf.Duration: 5s onto 0.5s is 5s, not 5.5s. */
  readonly replace?: readonly string[];
  /** Lists of the source are appended, as protobuf has it, or replace those of the target. */
  readonly lists?: "append" | "replace";
}

interface Rules {
  readonly replace: ReadonlySet<string>;
  readonly lists: "append" | "replace";
}

type Fields = Record<string, unknown>;
type Choice = { case?: string; value?: unknown };

/** A new message; neither argument is changed or shared. */
export function merge<Desc extends DescMessage>(
  schema: Desc,
  target: MessageShape<Desc>,
  source: MessageShape<Desc>,
  { replace = [], lists = "append" }: MergeOptions = {},
): MessageShape<Desc> {
  const into = clone(schema, target);
  const rules = { replace: new Set(replace), lists };
  mergeMessage(schema, into as unknown as Fields, clone(schema, source) as unknown as Fields, rules);
  return into;
}

function mergeMessage(desc: DescMessage, into: Fields, from: Fields, rules: Rules): void {
  for (const member of desc.members) {
    const name = member.localName;
    // own key: a field of the message's descriptor
    if (member.kind === "oneof") mergeChoice(member, into[name] as Choice, from[name] as Choice, rules);
    // own key: likewise
    else if (isSet(member, from)) into[name] = merged(member, into[name], from[name], rules);
  }
  const unknown = from["$unknown"] as readonly unknown[] | undefined;
  if (unknown !== undefined) into["$unknown"] = [...((into["$unknown"] as readonly unknown[]) ?? []), ...unknown];
}

function mergeChoice(oneof: DescOneof, into: Choice, from: Choice, rules: Rules): void {
  const field = oneof.fields.find(({ localName }) => localName === from.case);
  if (field === undefined) return;
  into.value = into.case === from.case ? merged(field, into.value, from.value, rules) : from.value;
  into.case = field.localName;
}

/** The merged value of a field that `from` sets. */
function merged(field: DescField, into: unknown, from: unknown, rules: Rules): unknown {
  if (field.fieldKind === "list") return joined(into as readonly unknown[], from as readonly unknown[], rules);
  if (field.fieldKind === "map") return { ...(into as Fields), ...(from as Fields) };
  if (field.fieldKind !== "message" || into === undefined || rules.replace.has(field.message.typeName)) return from;
  // The library keeps wrappers and Struct as plain values.
  if (isWrapperDesc(field.message) && field.oneof === undefined) return isZero(from) ? into : from;
  const isStruct = field.message.typeName === "google.protobuf.Struct";
  if (isStruct && field.parent.typeName !== "google.protobuf.Value")
    return { ...(into as Fields), ...(from as Fields) };
  mergeMessage(field.message, into as Fields, from as Fields, rules);
  return into;
}

function joined(into: readonly unknown[], from: readonly unknown[], { lists }: Rules): readonly unknown[] {
  if (lists === "append") return [...into, ...from];
  return from.length === 0 ? into : from;
}

function isSet(field: DescField, fields: Fields): boolean {
  const { localName: name } = field;
  if (field.fieldKind === "list" || field.fieldKind === "map") return true;
  // Outside of proto3, defaults lie on the prototype and count as unset.
  if (field.presence !== 2) return Object.hasOwn(fields, name) && fields[name] !== undefined;
  // own key: a field of the message's descriptor
  return fields[name] !== undefined && !isZero(fields[name]);
}

function isZero(value: unknown): boolean {
  return (
    value === "" ||
    value === false ||
    value === 0n ||
    Object.is(value, 0) ||
    (value instanceof Uint8Array && value.length === 0)
  );
}

/** Rewrites every Any of a message, at every depth; parts without one are shared with the original. */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { decode, encode } from "./encode.ts";
import { registry } from "./registry.ts";
import { typeNameOf } from "./type-url.ts";

type Fields = Record<string, unknown>;

/** The message with every Any replaced by what `change` returns; the message itself where nothing changes. */
export function mapAnys(desc: DescMessage, message: Message, change: (any: Any) => Any): Message {
  if (desc.typeName === "google.protobuf.Any") return mapAny(message as Any, change);
  if (!canHoldAny(desc)) return message;
  const before = message as unknown as Fields;
  let after: Fields | undefined;
  const put = (key: string, value: unknown) => {
    // own key: a field of the message's descriptor
    if (value === before[key]) return;
    // Outside of proto3 the prototype holds defaults.
    after ??= Object.assign(Object.create(Object.getPrototypeOf(before)) as Fields, before);
    // own key: a field of the message's descriptor
    after[key] = value;
  };
  for (const field of desc.fields) {
    const inner = field.message;
    if (inner === undefined || !canHoldAny(inner)) continue;
    // own key: a field of the message's descriptor
    const value = before[field.oneof?.localName ?? field.localName];
    if (value === undefined) continue;
    if (field.oneof !== undefined) {
      const chosen = value as { case?: string; value?: Message };
      if (chosen.case !== field.localName || chosen.value === undefined) continue;
      const mapped = mapAnys(inner, chosen.value, change);
      if (mapped !== chosen.value) put(field.oneof.localName, { case: chosen.case, value: mapped });
    } else if (field.fieldKind === "list") {
      put(
        field.localName,
        mapList(value as readonly Message[], (item) => mapAnys(inner, item, change)),
      );
    } else if (field.fieldKind === "map") {
      const entries = Object.entries(value as Record<string, Message>);
      const mapped = entries.map(([key, item]) => [key, mapAnys(inner, item, change)] as const);
      if (mapped.some(([, item], i) => item !== entries[i]?.[1])) put(field.localName, Object.fromEntries(mapped));
    } else {
      put(field.localName, mapAnys(inner, value as Message, change));
    }
  }
  return (after ?? before) as unknown as Message;
}

function mapAny(any: Any, change: (any: Any) => Any): Any {
  const desc = registry.getMessage(typeNameOf(any.typeUrl));
  if (desc === undefined || !canHoldAny(desc)) return change(any);
  const inner = decode(desc, any.value);
  const mapped = mapAnys(desc, inner, change);
  return change(mapped === inner ? any : { ...any, value: encode(desc, mapped) });
}

function mapList(items: readonly Message[], map: (item: Message) => Message): readonly Message[] {
  const mapped = items.map(map);
  return mapped.some((item, i) => item !== items[i]) ? mapped : items;
}

const holders = new Map<string, boolean>();

/** True where an Any can occur at any depth; Struct and wrappers, which the library unwraps, cannot. */
export function canHoldAny(desc: DescMessage): boolean {
  const known = holders.get(desc.typeName);
  if (known !== undefined) return known;
  if (desc.typeName.startsWith("google.protobuf.")) return desc.typeName === "google.protobuf.Any";
  const seen = new Set([desc.typeName]);
  const queue = [desc];
  let found = false;
  for (const next of queue) {
    for (const { message } of next.fields) {
      if (message === undefined || seen.has(message.typeName)) continue;
      if (message.typeName === "google.protobuf.Any") found = true;
      seen.add(message.typeName);
      if (!message.typeName.startsWith("google.protobuf.")) queue.push(message);
    }
  }
  holders.set(desc.typeName, found);
  return found;
}

/**
 * How a patch is merged into what was generated: as protobuf merges, with durations replaced, and with typed configs merged
 * inside of their Any where both are of one type.
 */
import { type Any, decode, type GenMessage, type Message, merge, pack, registry, typeNameOf } from "@flotilla/proto";
import type { TransportSocket } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { Operation, type Patch } from "./patch.ts";

const replace = ["google.protobuf.Duration"];

/** A new message. Unlike MERGE, MERGE_AND_REPLACE_LIST replaces lists instead of appending to them. */
export function mergeValue<Value extends Message>(
  schema: GenMessage<Value>,
  target: Value,
  { operation, value }: Patch<Value>,
): Value {
  return value === undefined ? target : mergeAs(schema, target as never, value as never, operation);
}

function mergeAs<Value extends Message>(
  schema: GenMessage<Value>,
  target: Value,
  value: Value,
  operation: Operation,
): Value {
  const lists = operation === Operation.MERGE_AND_REPLACE_LIST ? "replace" : "append";
  return merge(schema, target as never, value as never, { replace, lists }) as Value;
}

export function isMerge({ operation }: Patch): boolean {
  return operation === Operation.MERGE || operation === Operation.MERGE_AND_REPLACE_LIST;
}

/**
 * Lists within typed configs are always appended to. Source: istiod asked.
 * @throws Error when the two are of different types, or of one that is not known
 */
export function mergeAny(target: Any, source: Any): Any {
  const [name, patched] = [typeNameOf(target.typeUrl), typeNameOf(source.typeUrl)];
  if (name !== patched) throw new Error(`a typed config of ${patched} cannot be merged into one of ${name}`);
  const desc = registry.getMessage(name);
  if (desc === undefined) throw new Error(`a typed config of ${name} cannot be merged: its type is not known`);
  const schema = desc as GenMessage<Message>;
  const merged = mergeAs(
    schema,
    decode(schema, target.value) as never,
    decode(schema, source.value) as never,
    Operation.MERGE,
  );
  return pack(schema, merged as never);
}

/**
 * A patch's transport socket merged into one of the same name, within its typed config; false where there is none.
 * @throws Error when the configs are of different types
 */
export function mergeSocket(sockets: readonly (TransportSocket | undefined)[], patch: TransportSocket): boolean {
  const target = sockets.find((one) => one !== undefined && one.name === patch.name);
  if (target === undefined) return false;
  if (target.configType.case !== "typedConfig" || patch.configType.case !== "typedConfig") return true;
  target.configType = {
    case: "typedConfig",
    value: mergeAny(target.configType.value, patch.configType.value),
  };
  return true;
}

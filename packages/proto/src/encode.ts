/**
 * Deterministic binary encoding: fields by number, map entries by key, so that equal messages give
 * equal bytes. Each message type is compiled once, when it is first written (see encode-compiler.ts).
 */
import { type DescMessage, fromBinary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { compileWriter } from "./encode-compiler.ts";
import { ProtoError } from "./errors.ts";
import { WireWriter } from "./wire-writer.ts";

/** Shared by all calls: encoding never waits, hence never overlaps. */
const shared = new WireWriter();

/**
 * The bytes of a message, which may be given as a plain object: `create` is not needed for what is only sent.
 * @throws ProtoError when a value is not of its field's type.
 */
export function encode<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc> | MessageInitShape<Desc>,
): Uint8Array {
  const { $typeName: type } = message as { readonly $typeName?: string };
  if (type !== undefined && type !== schema.typeName) {
    throw new ProtoError("PROTO_ENCODE", `cannot encode a ${type} as ${schema.typeName}`);
  }
  try {
    compileWriter(schema).write(shared, message as object);
  } catch (cause) {
    shared.finish();
    throw new ProtoError("PROTO_ENCODE", `cannot encode ${schema.typeName}`, cause);
  }
  return shared.finish();
}

/** @throws ProtoError when `bytes` are not of the message's form. */
export function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new ProtoError("PROTO_DECODE", `cannot decode ${schema.typeName} from ${bytes.length} bytes`, cause);
  }
}

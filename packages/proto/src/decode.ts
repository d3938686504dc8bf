import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { ProtoError } from "./errors.ts";

/** @throws ProtoError when `bytes` are not of the message's form. */
export function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new ProtoError("PROTO_DECODE", `cannot decode ${schema.typeName} from ${bytes.length} bytes`, cause);
  }
}

/** google.protobuf.Any through the registry. */
import { create, type DescMessage, fromBinary, type Message, type MessageShape } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { encode } from "./encode.ts";
import { registry } from "./registry.ts";
import { typeNameOf, typeUrlOf } from "./type-url.ts";

export function pack<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Any {
  return create(AnySchema, { typeUrl: typeUrlOf(schema.typeName), value: encode(schema, message) });
}

/** The message inside; undefined when its type is unknown. @throws when the bytes are not of that type. */
export function unpack(any: Any): Message | undefined {
  const desc = registry.getMessage(typeNameOf(any.typeUrl));
  return desc === undefined ? undefined : fromBinary(desc, any.value);
}

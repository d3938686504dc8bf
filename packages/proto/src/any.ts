/** google.protobuf.Any through the registry. */
import { create, type DescMessage, type Message, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import { registry } from "./registry.ts";
import { typeNameOf, typeUrlOf } from "./type-url.ts";

/** Like `encode`, takes plain objects too. */
export function pack<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc> | MessageInitShape<Desc>,
): Any {
  return create(AnySchema, { typeUrl: typeUrlOf(schema.typeName), value: encode(schema, message) });
}

/** The message inside; undefined when its type is unknown. @throws ProtoError when the bytes are not of that type. */
export function unpack(any: Any): Message | undefined {
  const desc = registry.getMessage(typeNameOf(any.typeUrl));
  return desc === undefined ? undefined : decode(desc, any.value);
}

/** The message inside, when it is of this type. @throws ProtoError when the bytes are not of that type. */
export function unpackAs<Desc extends DescMessage>(schema: Desc, any: Any): MessageShape<Desc> | undefined {
  return typeNameOf(any.typeUrl) === schema.typeName ? decode(schema, any.value) : undefined;
}

/**
 * The one place where messages become bytes: builders hand over a schema and a message, whole or as parts of a container.
 * Whatever changes messages after they were built (patches of EnvoyFilters) belongs between the two.
 */
import type { MessageShape } from "@bufbuild/protobuf";
import { encode, type GenMessage, type Message } from "@flotilla/proto";
import { concatBytes, type Encoded, encoded, lengthDelimited } from "./encoded.ts";

type Shape<Of extends Message> = MessageShape<GenMessage<Of>>;

export function encodedMessage<Of extends Message>(schema: GenMessage<Of>, message: Shape<Of>): Encoded {
  return encoded(encode(schema, message));
}

/** Some fields of a message that is joined from several. */
export function encodedFields<Of extends Message>(schema: GenMessage<Of>, fields: Shape<Of>): Uint8Array {
  return encode(schema, fields);
}

/** A message as one element of field `field` of its container: its parts, in the order of their numbers, are messages or bytes. */
export function encodedElement<Of extends Message>(
  field: number,
  schema: GenMessage<Of>,
  parts: readonly (Shape<Of> | Uint8Array)[],
): Encoded {
  const bytes = parts.map((part) => (part instanceof Uint8Array ? part : encode(schema, part)));
  return encoded(lengthDelimited(field, concatBytes(bytes)));
}

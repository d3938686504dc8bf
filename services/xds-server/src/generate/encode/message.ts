/**
 * The one place where messages become bytes: builders hand over a schema and a message, whole or as parts of a container.
 * Whatever changes messages after they were built (patches of EnvoyFilters) stands between the two.
 */
import type { MessageShape } from "@bufbuild/protobuf";
import { decode, encode, type GenMessage, type Message } from "@flotilla/proto";
import { concatBytes, type Encoded, encoded, lengthDelimited } from "./encoded.ts";
import { type ChangedContent, type Changes, removedContent } from "./patching.ts";

type Shape<Of extends Message> = MessageShape<GenMessage<Of>>;

export function encodedMessage<Of extends Message>(schema: GenMessage<Of>, message: Shape<Of>): Encoded {
  return encoded(encode(schema, message));
}

/** A message as changes leave it. They get one of their own: what is built shares parts with other messages. */
export function changedMessage<Of extends Message>(
  schema: GenMessage<Of>,
  message: Shape<Of>,
  changes: Changes<Shape<Of>>,
): ChangedContent {
  const { message: changed, findings } = changes.apply(decode(schema, encode(schema, message)));
  if (changed === undefined) return removedContent(findings);
  const { name } = changed as { readonly name?: unknown };
  return {
    ...encodedMessage(schema, changed),
    ...(typeof name === "string" && { name }),
    isRemoved: false,
    findings,
  };
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

/** Protobuf's own merge: set scalars replace, lists append, messages recurse, maps join by key, oneofs replace. */
import { clone, type DescMessage, type MessageShape, mergeFromBinary } from "@bufbuild/protobuf";
import { encode } from "./encode.ts";

/** A new message; neither argument is changed. Merging is what a decoder does with concatenated encodings. */
export function merge<Desc extends DescMessage>(
  schema: Desc,
  target: MessageShape<Desc>,
  source: MessageShape<Desc>,
): MessageShape<Desc> {
  return mergeFromBinary(schema, clone(schema, target), encode(schema, source));
}

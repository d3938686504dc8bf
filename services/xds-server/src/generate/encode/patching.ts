/**
 * Changes a resource's message after it was built and before it is encoded. Equal changes are one object: equal inputs under the identical
 * changes are built, changed and encoded once, for all views.
 */
import type { MessageShape } from "@bufbuild/protobuf";
import type { Finding } from "@flotilla/incremental";
import { decode, type GenMessage, type Message } from "@flotilla/proto";
import type { View, ViewQuery } from "../../snapshot/view.ts";
import { type Encoded, encoded, encodedFields, encodedMessage } from "./encoded.ts";

export interface Changed<Resource> {
  /** Undefined where the resource is removed. */
  readonly message: Resource | undefined;
  readonly findings: readonly Finding[];
  /** Patches that took effect, and those that could not be applied. */
  readonly outcomes: readonly Finding[];
}

export interface Changes<Resource> {
  /** The message is the caller's own: it may be changed in place. */
  readonly apply: (message: Resource) => Changed<Resource>;
}

/** Changes of a container, which is joined from encoded parts. */
export interface ContainerChanges {
  /** @param frame the encoded fields around the parts */
  readonly join: (frame: Uint8Array, parts: readonly Encoded[]) => ChangedContent;
}

/** The changes of one type of resource, by the resource's name. */
export interface Patching<ChangesOf extends object> {
  readonly changes: (view: View, name: string) => ChangesOf | undefined;
  /** Resources that nothing was built for. One that is built under the same name comes first. */
  readonly added?: ViewQuery<undefined, ReadonlyMap<string, Encoded>>;
}

export interface ChangedContent extends Encoded {
  /** That of the changed message; undefined where the changes cannot rename it. */
  readonly name?: string;
  readonly isRemoved: boolean;
  readonly findings: readonly Finding[];
  readonly outcomes: readonly Finding[];
}

/** A message with changes applied to a copy: built messages share parts with others. */
export function changedMessage<Of extends Message>(
  schema: GenMessage<Of>,
  message: MessageShape<GenMessage<Of>>,
  changes: Changes<MessageShape<GenMessage<Of>>>,
): ChangedContent {
  const { message: changed, findings, outcomes } = changes.apply(decode(schema, encodedFields(schema, message)));
  if (changed === undefined) return { ...encoded(new Uint8Array()), isRemoved: true, findings, outcomes };
  const { name } = changed as { readonly name?: unknown };
  return {
    ...encodedMessage(schema, changed),
    ...(typeof name === "string" && { name }),
    isRemoved: false,
    findings,
    outcomes,
  };
}

/** For `pilot_envoy_filter_status`: nothing where that is switched off. */
export function reportOutcomes(view: View, outcomes: readonly Finding[]): void {
  if (outcomes.length === 0 || !view.feature("envoyFilterStats")) return;
  for (const outcome of outcomes) view.report(outcome);
}

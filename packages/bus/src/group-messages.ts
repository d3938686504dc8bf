/** Changes that are written together as messages: each knows its group, so that readers can put it together again. */
import type { Cause } from "@flotilla/model";
import type { OutgoingMessage } from "./bus.ts";
import { marks } from "./envelope.ts";
import type { Remembered } from "./held-changes.ts";

/** A change as it travels, but for what is said of its group. */
export interface Packed extends Pick<OutgoingMessage, "payload" | "headers"> {
  readonly told: Remembered;
}

export function groupMessages(packed: readonly Packed[], cause: Cause): readonly OutgoingMessage[] {
  const sizes = new Map<string, number>();
  for (const { told } of packed) sizes.set(told.change.type, (sizes.get(told.change.type) ?? 0) + 1);
  return packed.map(({ told, payload, headers }) => {
    const sizeInTopic = sizes.get(told.change.type) ?? 1;
    const group = { id: `${cause.epoch}/${cause.revision}`, size: packed.length, sizeInTopic };
    return { subject: told.subject, payload, headers: { ...headers, ...marks(told, cause, group) } };
  });
}

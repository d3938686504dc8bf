/**
 * Changes as messages of one group, and the bounds that a message must keep: NATS would refuse it again with each try.
 */
import type { Cause } from "@flotilla/model";
import { messageBytes, type OutgoingMessage } from "./bus.ts";
import { marks, maxPlainBytes } from "./envelope.ts";
import type { Remembered } from "./held-changes.ts";

/** A change as it travels, but for what is said of its group. */
export interface Packed extends Pick<OutgoingMessage, "payload" | "headers"> {
  readonly remembered: Remembered;
}

/** Changes that are written together as messages: each knows its group, so that readers can put it together again. */
export function groupMessages(packed: readonly Packed[], cause: Cause): readonly OutgoingMessage[] {
  const sizes = new Map<string, number>();
  for (const { remembered } of packed) sizes.set(remembered.change.type, (sizes.get(remembered.change.type) ?? 0) + 1);
  return packed.map(({ remembered, payload, headers }) => {
    const sizeInTopic = sizes.get(remembered.change.type) ?? 1;
    const group = { id: `${cause.epoch}/${cause.revision}`, size: packed.length, sizeInTopic };
    return { subject: remembered.subject, payload, headers: { ...headers, ...marks(remembered, cause, group) } };
  });
}

/** What headers add to a payload, at most. */
const headerBytes = 2_048;

/** A message's control line holds its subject twice at most, and NATS takes 4,096 bytes (docs/decisions/0149-long-keys.md). */
const maxSubjectBytes = 2_000;

/**
 * What the bus takes: a message beyond it is refused by name before it is sent, since it would be sent again for ever.
 * Undefined when the message can travel. @param plainBytes of the payload before it was packed
 */
export function whyRefused(message: OutgoingMessage, plainBytes: number, maxMessageBytes: number): string | undefined {
  const { length } = message.subject;
  if (length > maxSubjectBytes) return `a key of ${length} bytes is more than the bus takes, ${maxSubjectBytes}`;
  if (plainBytes > maxPlainBytes)
    return `${plainBytes} bytes before packing are more than readers unpack, ${maxPlainBytes}`;
  const bytes = messageBytes(message) + headerBytes;
  return bytes > maxMessageBytes ? `${bytes} bytes are more than the bus takes, ${maxMessageBytes}` : undefined;
}

/** What the bus takes: a message beyond it is refused by name before it is sent, since it would be sent again for ever. */
import { messageBytes, type OutgoingMessage } from "./bus.ts";
import { maxPlainBytes } from "./envelope.ts";

/** What headers add to a payload, at most. */
const headerBytes = 2_048;

/** A message's control line holds its subject twice at most, and NATS takes 4,096 bytes (docs/decisions/0149-long-keys.md). */
const maxSubjectBytes = 2_000;

/** Undefined when the message can travel. @param plainBytes of the payload before it was packed */
export function whyRefused(message: OutgoingMessage, plainBytes: number, maxMessageBytes: number): string | undefined {
  const { length } = message.subject;
  if (length > maxSubjectBytes) return `a key of ${length} bytes is more than the bus takes, ${maxSubjectBytes}`;
  if (plainBytes > maxPlainBytes)
    return `${plainBytes} bytes before packing are more than readers unpack, ${maxPlainBytes}`;
  const bytes = messageBytes(message) + headerBytes;
  return bytes > maxMessageBytes ? `${bytes} bytes are more than the bus takes, ${maxMessageBytes}` : undefined;
}

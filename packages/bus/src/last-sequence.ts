/** Single messages of a stream, as its leader has them. */
import { type JetStreamManager, NatsError, type StoredMsg } from "nats";

/** The sequence of the last message under any of the filters, 0 when there is none. */
export async function lastSequence(
  manager: JetStreamManager,
  stream: string,
  filters: readonly string[],
): Promise<number> {
  const messages = await Promise.all(filters.map((filter) => lastMessage(manager, stream, filter)));
  return Math.max(0, ...messages.map((message) => message?.seq ?? 0));
}

/** The last message under a filter; undefined when there is none. */
export async function lastMessage(
  manager: JetStreamManager,
  stream: string,
  filter: string,
): Promise<StoredMsg | undefined> {
  try {
    return await manager.streams.getMessage(stream, { last_by_subj: filter });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** There is no such message or stream. */
export function isNotFound(error: unknown): boolean {
  return error instanceof NatsError && (error.api_error?.code === 404 || error.code === "404");
}

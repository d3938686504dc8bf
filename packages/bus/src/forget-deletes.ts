/** Old deletes go for good: a stream of things that come and go does not grow without end. */
import type { Logger } from "@flotilla/runtime";
import type { Bus, StoredMessage } from "./bus.ts";
import { isDelete, publisherOf } from "./envelope.ts";

/** Whose deletes are purged, and after which time in milliseconds. */
export interface ForgetDeletesOptions {
  readonly bus: Pick<Bus, "forget">;
  readonly publisher: string;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** How long deletes are kept for readers that were away; seven days unless given. */
  readonly keepDeletesMs?: number;
}

/** Milliseconds of a day. */
export const dayMs = 86_400_000;

/**
 * Resolves to the subjects that are gone.
 * @param messages the last of each key in the stream; those of others stay
 */
export async function forgetDeletes(
  options: ForgetDeletesOptions,
  messages: readonly StoredMessage[],
): Promise<readonly string[]> {
  const { bus, publisher, log, nowMs, keepDeletesMs = 7 * dayMs } = options;
  const old = messages.filter(
    (message) =>
      publisherOf(message) === publisher && isDelete(message) && nowMs() - message.storedAtMs > keepDeletesMs,
  );
  try {
    await bus.forget(old.map(({ sequence }) => sequence));
    return old.map(({ subject }) => subject);
  } catch (error) {
    log.warn("old deletes not purged, trying again later", { count: old.length, error });
    return [];
  }
}

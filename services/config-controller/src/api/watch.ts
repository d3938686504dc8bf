/** A watch: the objects there or the changes since a version, then each change, as lines of JSON. */
import type { Config } from "@flotilla/model";
import { delay, timeLimit, Wakeup } from "@flotilla/runtime";
import { ApiError, statusOf } from "./api-error.ts";
import type { EventHistory, StoreEvent } from "./event-history.ts";

export interface WatchOptions {
  readonly history: EventHistory;
  /** Of the store as it is now. */
  readonly version: () => number;
  /** Objects present now; sent first to clients that name no version. */
  readonly present: () => readonly Config[];
  readonly isWanted: (config: Config) => boolean;
  readonly show: (config: Config) => unknown;
  /** As the query has it; undefined or "0": from what is there. */
  readonly since: string | undefined;
  /** Present objects come first in any case, and their end is marked. */
  readonly initialEvents: boolean;
  readonly timeoutMs: number;
  readonly bookmarks: boolean;
  /** Sends a bookmark from time to time, also when nothing happens. `isInitialEnd`: all objects present at the start have been sent. */
  readonly bookmark: (version: number, isInitialEnd: boolean) => unknown;
}

/** A reader that falls further behind has to begin anew. */
const maxPending = 10_000;
const bookmarkMs = 60_000;

/** Ends when `stop` fires, the time is up, or the reader must list anew, which is the last event then. */
export async function* watchEvents(options: WatchOptions, stop: AbortSignal): AsyncGenerator<unknown, void, undefined> {
  const { history, version, present, isWanted, show, since, bookmarks, initialEvents } = options;
  const wakeup = new Wakeup();
  let pending: StoreEvent[] = [];
  let isOverrun = false;
  const end = history.onEvents((events) => {
    pending.push(...events);
    isOverrun ||= pending.length > maxPending;
    if (isOverrun) pending = [];
    wakeup.wake();
  });
  using limit = timeLimit(options.timeoutMs, stop);
  const ended = limit.signal;
  const marks = bookmarks ? markEvery(wakeup, ended) : undefined;
  try {
    // No wait between here and the first look at `pending`: nothing is missed and nothing sent twice.
    const first =
      initialEvents || isFromNow(since)
        ? present().map((config): StoreEvent => ({ version: version(), type: "ADDED", config }))
        : history.after(parseVersion(since));
    if (first === undefined) return yield expired();
    pending = [...first];
    let markInitialAt = initialEvents && bookmarks ? version() : undefined;
    let markedAtMs = performance.now();
    while (!ended.aborted) {
      const events = pending;
      pending = [];
      for (const { type, config } of events) if (isWanted(config)) yield { type, object: show(config) };
      if (isOverrun) return yield expired();
      if (markInitialAt !== undefined) {
        yield { type: "BOOKMARK", object: options.bookmark(markInitialAt, true) };
        markInitialAt = undefined;
      }
      if (bookmarks && performance.now() - markedAtMs >= bookmarkMs && pending.length === 0) {
        markedAtMs = performance.now();
        yield { type: "BOOKMARK", object: options.bookmark(version(), false) };
      }
      if (pending.length === 0) await wakeup.wait(ended);
    }
    // A client that goes on from here misses nothing and repeats nothing.
    if (bookmarks && !stop.aborted) yield { type: "BOOKMARK", object: options.bookmark(version(), false) };
  } finally {
    end();
    await marks;
  }
}

async function markEvery(wakeup: Wakeup, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await delay(bookmarkMs, stop);
    wakeup.wake();
  }
}

function isFromNow(since: string | undefined): boolean {
  return since === undefined || since === "" || since === "0";
}

function parseVersion(since: string | undefined): number {
  if (!/^\d+$/.test(since ?? ""))
    throw new ApiError(400, "BadRequest", `resourceVersion ${JSON.stringify(since)} is none of this store`);
  return Number(since);
}

function expired(): unknown {
  return { type: "ERROR", object: statusOf(new ApiError(410, "Expired", "too old resource version: list again")) };
}

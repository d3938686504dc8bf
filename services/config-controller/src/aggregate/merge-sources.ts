/** Runs all sources side by side and gives what changes in the view of them all. */
import type { ConfigChange, ConfigKey } from "@flotilla/model";
import { mergeGroups } from "@flotilla/sources";
import type { ConfigSource } from "../watch/config-source.ts";
import type { AggregateStore } from "./aggregate-store.ts";

export interface AggregateGroup {
  /** Handed over: whoever takes the group empties it when it is done. */
  readonly changes: ConfigChange[];
  readonly eventTimeMs: number;
  /** Who told it; absent for snapshots. */
  readonly source?: string;
  /** Everything that all sources have: what is not in it is gone, unless a source cannot tell. The first group always is. */
  readonly snapshot: boolean;
  /** Of a key that is not in a snapshot: whether it stays nevertheless. */
  readonly keep: (key: ConfigKey) => boolean;
}

/** The snapshot waits for every source: a view without one of them would delete its objects. */
export async function* mergeSources(
  sources: readonly ConfigSource[],
  store: AggregateStore,
  stop: AbortSignal,
): AsyncGenerator<AggregateGroup, void, undefined> {
  const keep = (key: ConfigKey): boolean => sources.some((source) => source.isUntold?.(key) === true);
  let started = false;
  for await (const { source, group, complete } of mergeGroups(sources, stop)) {
    const changes = store.apply(source, group.changes, group.eventTimeMs);
    const { eventTimeMs, isComplete = false } = group;
    // Loops on the way hold their last group until the next one comes, which may take for ever.
    group.changes.length = 0;
    if (started && !isComplete && changes.length > 0) yield { changes, eventTimeMs, source, snapshot: false, keep };
    else changes.length = 0;
    if (complete && (!started || isComplete)) {
      started = true;
      yield { changes: puts(store), eventTimeMs, snapshot: true, keep };
    }
  }
}

/** Everything in the view, as changes. */
export function puts(store: Pick<AggregateStore, "all">): ConfigChange[] {
  return store.all().map((value) => ({ type: "config", op: "put", key: value.key, value }));
}

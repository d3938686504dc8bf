/** Runs all sources side by side and gives what changes in the view of them all. */
import type { ConfigChange } from "@flotilla/model";
import { mergeGroups } from "@flotilla/sources";
import type { ConfigSource } from "../watch/config-source.ts";
import type { AggregateStore } from "./aggregate-store.ts";

export interface AggregateGroup {
  readonly changes: readonly ConfigChange[];
  readonly eventTimeMs: number;
  /** Who told it; absent for the first group. */
  readonly source?: string;
  /** The first group: everything that all sources have. */
  readonly snapshot: boolean;
}

/** The snapshot waits for every source: a view without one of them would delete its objects. */
export async function* mergeSources(
  sources: readonly ConfigSource[],
  store: AggregateStore,
  stop: AbortSignal,
): AsyncGenerator<AggregateGroup, void, undefined> {
  let started = false;
  for await (const { source, group, complete } of mergeGroups(sources, stop)) {
    const changes = store.apply(source, group.changes, group.eventTimeMs);
    const { eventTimeMs } = group;
    if (started && changes.length > 0) yield { changes, eventTimeMs, source, snapshot: false };
    if (!started && complete) {
      started = true;
      yield { changes: store.all().map(put), eventTimeMs, snapshot: true };
    }
  }
}

function put(value: ReturnType<AggregateStore["all"]>[number]): ConfigChange {
  return { type: "config", op: "put", key: value.key, value };
}

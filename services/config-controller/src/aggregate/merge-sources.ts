/** Runs all sources side by side and gives what changes in the view of them all. */
import type { Config, ConfigChange, ConfigKey } from "@flotilla/model";
import { mergeGroups, TimeSlice } from "@flotilla/runtime";
import type { ConfigGroup, ConfigSource } from "../watch/config-source.ts";
import type { AggregateStore } from "./aggregate-store.ts";

export type AggregateGroup = Snapshot | ChangedGroup;

interface ChangedGroup {
  readonly snapshot: false;
  /** Handed over: the receiver of the group empties it when it is done. */
  readonly changes: ConfigChange[];
  readonly eventTimeMs: number;
  /** Its source. */
  readonly source: string;
  /** Accounts that wrote it over the API. */
  readonly caller?: string;
}

/** All objects of all sources: others are gone, unless a source cannot determine that. The first group always is. */
interface Snapshot {
  readonly snapshot: true;
  readonly changes: Iterable<ConfigChange>;
  /** By kind, how many objects. */
  readonly counts: ReadonlyMap<string, number>;
  /** Of a key that is not in it: whether it stays nevertheless. */
  readonly keep: (key: ConfigKey) => boolean;
}

/** Notified of changed objects of one kind in the view, before other listeners. */
export interface KindListener {
  /** Everything that all sources have is in the view. */
  readonly onLoaded: () => void;
  /** @param config undefined: it is gone */
  readonly onChange: (key: ConfigKey, config: Config | undefined) => void;
}

/** Applied at a time while no reader waits for changes. */
const sliceSize = 100;

export interface MergedView {
  readonly store: AggregateStore;
  readonly listeners?: ReadonlyMap<string, KindListener>;
}

/** The snapshot waits for every source: a view without one of them would delete its objects. */
export async function* mergeSources(
  sources: readonly ConfigSource[],
  { store, listeners = new Map() }: MergedView,
  stop: AbortSignal,
): AsyncGenerator<AggregateGroup, void, undefined> {
  const keep = (key: ConfigKey): boolean => sources.some((source) => source.isIncomplete?.(key) === true);
  let started = false;
  for await (const { source, group, complete } of mergeGroups(sources, stop)) {
    const { eventTimeMs, caller, isComplete = false } = group;
    if (!started) await applySlices(store, source, group);
    const timeSlice = new TimeSlice();
    const changes = started ? store.apply(source, group.changes, eventTimeMs) : [];
    // Loops on the way hold their last group until the next one comes, which may take for ever.
    group.changes.length = 0;
    for (const change of changes)
      listeners.get(change.key.kind)?.onChange(change.key, change.op === "put" ? change.value : undefined);
    // An object of megabytes was compared; what follows takes as long again.
    if (timeSlice.isDue) await timeSlice.yield();
    if (changes.length > 0)
      yield { changes, eventTimeMs, source, ...(caller !== undefined && { caller }), snapshot: false };
    if (complete && (!started || isComplete)) {
      if (!started) for (const listener of listeners.values()) listener.onLoaded();
      started = true;
      yield snapshotOf(store, keep);
    }
  }
}

/** Individual changes are of no interest before the first snapshot: other tasks run in between. */
async function applySlices(
  store: AggregateStore,
  source: string,
  { changes, eventTimeMs }: ConfigGroup,
): Promise<void> {
  const timeSlice = new TimeSlice();
  for (let from = 0; from < changes.length; from += sliceSize) {
    store.apply(source, changes.slice(from, from + sliceSize), eventTimeMs);
    if (timeSlice.isDue) await timeSlice.yield();
  }
}

/** Looked up by who asks: later ones are looked at for what is not in them only. */
function snapshotOf(store: AggregateStore, keep: Snapshot["keep"]): Snapshot {
  return {
    snapshot: true,
    keep,
    get changes() {
      return puts(store);
    },
    get counts() {
      return store.counts();
    },
  };
}

/** The wanted objects of the view as it is now, as puts: produced lazily, some at a time. */
export function puts(
  store: Pick<AggregateStore, "snapshot">,
  isWanted: (key: ConfigKey) => boolean = () => true,
): Iterable<ConfigChange> {
  return putsOf(store.snapshot(), isWanted);
}

function* putsOf(
  configs: Iterable<Config>,
  isWanted: (key: ConfigKey) => boolean,
): Generator<ConfigChange, void, undefined> {
  for (const value of configs) if (isWanted(value.key)) yield { type: "config", op: "put", key: value.key, value };
}

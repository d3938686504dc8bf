/**
 * For the objects of the configuration that changed last: how many of the proxies connected here have answered the
 * change and have something that was made from the object.
 */
import {
  type Change,
  type ConfigKey,
  configKeyText,
  type ObjectReach,
  parseConfigKey,
  registryKinds,
} from "@flotilla/model";
import type { Core } from "../core.ts";
import type { StreamRecord } from "../serve/stream-record.ts";

/**
 * The object that a change is of. A ServiceEntry takes effect by the services that are made of it, what selects workloads for it
 * by their endpoints, which tell of no object.
 */
function keyOf(change: Change): ConfigKey | undefined {
  if (change.type === "config") return registryKinds.has(change.key.kind) ? undefined : change.key;
  if (change.type !== "service" || change.op === "delete") return undefined;
  const { definedBy } = change.value;
  return definedBy.startsWith("ServiceEntry/") ? parseConfigKey(definedBy) : undefined;
}

interface Entry {
  readonly key: ConfigKey;
  readonly position: number;
  reach: ObjectReach | undefined;
  /** Of the connected streams when `reach` was found. */
  streamsVersion: number;
}

/** Of objects that changed longer ago it is told only which position all proxies have answered. */
const maxObjects = 500;
/** For how long it may look at a time. */
const lookMs = 3;
const recountMs = 1;

export class ObjectReaches {
  readonly #core: Pick<Core, "resultsFrom">;
  readonly #entries = new Map<string, Entry>();
  #listed: Readonly<Record<string, ObjectReach>> | undefined;

  constructor(core: Pick<Core, "resultsFrom">) {
    this.#core = core;
  }

  note(changes: readonly Change[], position: number): void {
    this.#listed = undefined;
    for (const change of changes) {
      const key = keyOf(change);
      if (key === undefined) continue;
      const { op } = change;
      const text = configKeyText(key);
      this.#entries.delete(text);
      // Nothing is made from an object that is gone: all proxies are meant.
      if (op === "put") this.#entries.set(text, { key, position, reach: undefined, streamsVersion: -1 });
    }
    for (const text of this.#entries.keys()) {
      if (this.#entries.size <= maxObjects) break;
      this.#entries.delete(text);
    }
  }

  /**
   * Looks again at what may be different, latest changes first. `streamsVersion` differs when other streams are connected: what
   * had come everywhere is then counted again, which has time. True when all has been looked at.
   */
  refresh(streams: readonly StreamRecord[], streamsVersion: number, elapsedMs: () => number): boolean {
    for (const entry of [...this.#entries.values()].reverse()) {
      const isEverywhere = entry.reach?.waiting === 0;
      if (isEverywhere && entry.streamsVersion === streamsVersion) continue;
      if (elapsedMs() > (isEverywhere ? recountMs : lookMs)) return false;
      entry.reach = this.#reachOf(entry, streams);
      this.#listed = undefined;
      entry.streamsVersion = streamsVersion;
    }
    return true;
  }

  list(): Readonly<Record<string, ObjectReach>> {
    this.#listed ??= Object.fromEntries(
      [...this.#entries].flatMap(([text, { reach }]) => (reach === undefined ? [] : ([[text, reach]] as const))),
    );
    return this.#listed;
  }

  #reachOf({ key, position }: Entry, streams: readonly StreamRecord[]): ObjectReach {
    const results = this.#core.resultsFrom(key);
    let [reached, waiting] = [0, 0];
    for (const stream of streams) {
      if (stream.answeredPosition() < position) waiting++;
      else if (results === undefined || stream.watches(results)) reached++;
    }
    return { position, reached, waiting };
  }
}

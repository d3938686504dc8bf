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
import type { Core } from "../app/core.ts";
import type { Standing } from "./balance.ts";

/**
 * The object that a change is of. A ServiceEntry takes effect by the services that are made of it, selectors of workloads for it
 * by their endpoints, which report no object.
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
  /** More is made from the object than is looked at: it counts for all proxies, and is not looked for again, which takes milliseconds. */
  concernsAll: boolean;
  /** Of the connected streams when `reach` was found. */
  streamsVersion: number;
}

/** Of objects that changed longer ago only the position is reported which all proxies have answered. */
const maxObjects = 500;
/** For how long it may look at a time. */
const lookMs = 3;
const recountMs = 1;

/** The work left; recounts have time. */
export type Remaining = "nothing" | "recounts" | "looks";

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
      if (op === "put")
        this.#entries.set(text, { key, position, reach: undefined, concernsAll: false, streamsVersion: -1 });
    }
    for (const text of this.#entries.keys()) {
      if (this.#entries.size <= maxObjects) break;
      this.#entries.delete(text);
    }
  }

  /**
   * Looks again at what may be different, latest changes first. `streamsVersion` differs when other streams are connected: what
   * had come everywhere is then counted again.
   */
  refresh(standings: readonly Standing[], streamsVersion: number, elapsedMs: () => number): Remaining {
    let remaining: Remaining = "nothing";
    for (const entry of [...this.#entries.values()].reverse()) {
      const isEverywhere = entry.reach?.waiting === 0;
      if (isEverywhere && entry.streamsVersion === streamsVersion) continue;
      if (isEverywhere && elapsedMs() > recountMs) {
        remaining = "recounts";
        continue;
      }
      if (elapsedMs() > lookMs) return "looks";
      entry.reach = this.#reachOf(entry, standings);
      this.#listed = undefined;
      entry.streamsVersion = streamsVersion;
    }
    return remaining;
  }

  list(): Readonly<Record<string, ObjectReach>> {
    this.#listed ??= Object.fromEntries(
      [...this.#entries].flatMap(([text, { reach }]) => (reach === undefined ? [] : ([[text, reach]] as const))),
    );
    return this.#listed;
  }

  #reachOf(entry: Entry, standings: readonly Standing[]): ObjectReach {
    const results = entry.concernsAll ? undefined : this.#core.resultsFrom(entry.key);
    entry.concernsAll = results === undefined;
    const isReached = (watched: readonly object[]) =>
      results === undefined || watched.some((result) => results.some((ofInput) => ofInput.has(result)));
    let [reached, waiting] = [0, 0];
    for (const { position, watched, count } of standings) {
      if (position < entry.position) waiting += count;
      else if (isReached(watched)) reached += count;
    }
    return { position: entry.position, reached, waiting };
  }
}

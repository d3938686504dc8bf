/**
 * The configuration as the fleet has it, read back from the bus: each object with the generation that brought it, and
 * each generation as it comes with what was there before. A generation is a place in the fleet's sequence of changes.
 */
import { type Bus, filters, lastChanges, type Seal, subscribe } from "@flotilla/bus";
import {
  type Cause,
  type Config,
  type ConfigChange,
  type ConfigKey,
  type ConfigKeyText,
  configKeyText,
} from "@flotilla/model";
import { type Logger, TimeSlice } from "@flotilla/runtime";

export interface PublishedObject {
  readonly key: ConfigKey;
  readonly config: Config;
  /** The generation of its last change. */
  readonly position: number;
  readonly cause: Cause;
}

export interface GenerationChange {
  readonly key: ConfigKey;
  readonly before: Config | undefined;
  readonly after: Config | undefined;
  /** Length of the JSON of `before`. */
  readonly beforeLength: number;
}

export interface Generation {
  readonly position: number;
  readonly cause: Cause;
  readonly changes: readonly GenerationChange[];
}

/** A deleted object whose deletion is still on the stream. */
export interface DeletedObject {
  readonly key: ConfigKey;
  readonly position: number;
  readonly cause: Cause;
}

export interface PublishedListener {
  /** Objects present when following begins, and again when the sequence has begun anew. */
  onBaseline(deleted: readonly DeletedObject[]): void;
  onGeneration(generation: Generation): void;
}

export interface PublishedOptions {
  readonly bus: Bus;
  /** Without it, Secrets are not followed. */
  readonly seal: Seal | undefined;
  readonly log: Logger;
}

interface Held {
  readonly key: ConfigKey;
  /**
   * The object as JSON: a tenth of the memory that the object itself takes, which other parts hold already. As a text, for small
   * buffers are cut from slabs, and one that stays keeps its whole slab.
   */
  readonly text: string;
  readonly position: number;
  readonly cause: Cause;
}

export class PublishedConfig {
  readonly #options: PublishedOptions;
  #held = new Map<ConfigKeyText, Held>();
  readonly #listeners = new Set<PublishedListener>();
  #position = 0;
  #epoch = "";
  #mark: string | undefined;

  constructor(options: PublishedOptions) {
    this.#options = options;
  }

  /** Of the last generation that is known. */
  get position(): number {
    return this.#position;
  }

  get epoch(): string {
    return this.#epoch;
  }

  get(key: ConfigKey): PublishedObject | undefined {
    const held = this.#held.get(configKeyText(key));
    return held && read(held);
  }

  /** One after the other: all of them at once would take the memory that `text` spares. */
  *all(isWanted: (key: ConfigKey) => boolean = () => true): Generator<PublishedObject> {
    for (const held of this.#held.values()) if (isWanted(held.key)) yield read(held);
  }

  /** Present objects that changed after that generation. */
  *changedAfter(position: number): Generator<Omit<PublishedObject, "config">, void, undefined> {
    for (const held of this.#held.values()) if (held.position > position) yield held;
  }

  /** Gives a function that ends it. */
  listen(listener: PublishedListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads what is there; before anything more is published, lest it be part of it. @throws what the bus throws */
  async begin(): Promise<void> {
    await this.#readBaseline();
  }

  /** Follows what comes after that, until `stop` fires. */
  async follow(stop: AbortSignal): Promise<void> {
    const { bus, seal } = this.#options;
    for (let isFirst = true; !stop.aborted; isFirst = false) {
      if (!isFirst) await this.#readBaseline();
      const from = { afterSequence: this.#position, epoch: this.#epoch, mark: this.#mark };
      for await (const item of subscribe({ bus, seal, filter: filters.config, ...from }, stop)) {
        if (item.kind === "reset") break;
        if (item.kind === "group") await this.#recordChanges(item.group.changes.filter(isConfig), item.group);
      }
    }
  }

  async #readBaseline(): Promise<void> {
    const { bus } = this.#options;
    this.#epoch = bus.epoch;
    const found = lastChanges({ ...this.#options, filter: filters.config });
    const held = new Map<ConfigKeyText, Held>();
    const deleted: DeletedObject[] = [];
    let position = 0;
    let mark: string | undefined;
    for await (const { change, sequence, mark: markHere, cause } of found) {
      [position, mark] = [sequence, markHere];
      if (!isConfig(change)) continue;
      if (change.op === "put") held.set(configKeyText(change.key), packed(change.value, sequence, cause));
      else deleted.push({ key: change.key, position: sequence, cause });
    }
    this.#held = held;
    this.#position = position;
    this.#mark = mark;
    for (const listener of this.#listeners) listener.onBaseline(deleted);
  }

  /** Nothing of a generation is seen before all of it: its objects are read and packed first, some at a time. */
  async #recordChanges(
    changes: readonly ConfigChange[],
    { cause, position }: { readonly cause: Cause; readonly position: number },
  ): Promise<void> {
    const timeSlice = new TimeSlice();
    const changed: GenerationChange[] = [];
    const held = new Map<ConfigKeyText, Held | undefined>();
    for (const { key, ...change } of changes) {
      const place = configKeyText(key);
      const text = (held.has(place) ? held : this.#held).get(place)?.text;
      const before = text === undefined ? undefined : (JSON.parse(text) as Config);
      if (timeSlice.isDue) await timeSlice.yield();
      const after = change.op === "put" ? change.value : undefined;
      changed.push({ key, before, after, beforeLength: text?.length ?? 0 });
      held.set(place, after && packed(after, position, cause));
      if (timeSlice.isDue) await timeSlice.yield();
    }
    this.#position = Math.max(this.#position, position);
    for (const [place, now] of held) {
      if (now === undefined) this.#held.delete(place);
      else this.#held.set(place, now);
    }
    for (const listener of this.#listeners) listener.onGeneration({ position, cause, changes: changed });
  }
}

function packed(config: Config, position: number, cause: Cause): Held {
  return { key: config.key, text: JSON.stringify(config), position, cause };
}

function read({ key, text, position, cause }: Held): PublishedObject {
  return { key, config: JSON.parse(text) as Config, position, cause };
}

function isConfig(change: { readonly type: string }): change is ConfigChange {
  return change.type === "config";
}

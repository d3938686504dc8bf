/** Events of the objects of the durable store, for watches: the latest are kept, so that a watch can resume where one ended. */
import { type Config, type ConfigKey, type ConfigKeyText, configKeyText } from "@flotilla/model";
import type { DurableStore } from "../store/durable/durable-store.ts";

export interface StoreEvent {
  /** Of the store with it. */
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** As it is since; as it was, when it was deleted. */
  readonly config: Config;
}

export class EventHistory implements Disposable {
  readonly #known: Map<ConfigKeyText, Config>;
  readonly #listeners = new Set<(events: readonly StoreEvent[]) => void>();
  readonly #keep: number;
  readonly #end: () => void;
  #events: StoreEvent[] = [];
  /** Events up to here are forgotten. */
  #forgotten: number;

  /** `keep`: so many events. */
  constructor(durable: DurableStore, keep: number) {
    this.#keep = keep;
    this.#known = new Map(durable.all().map((config) => [configKeyText(config.key), config]));
    this.#forgotten = durable.version;
    this.#end = durable.onCommit(({ version, puts, deletes }) => {
      this.#note([
        ...puts.flatMap((config) => this.#put(config, version)),
        ...deletes.flatMap((key) => this.#delete(key, version)),
      ]);
    });
  }

  /** Undefined: they are not known any more. */
  after(version: number): readonly StoreEvent[] | undefined {
    return version < this.#forgotten ? undefined : this.#events.filter((event) => event.version > version);
  }

  /** Returns a function that ends it. */
  onEvents(listener: (events: readonly StoreEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  #note(events: readonly StoreEvent[]): void {
    this.#events.push(...events);
    const tooMany = this.#events.length - this.#keep;
    if (tooMany > 0) {
      // All events of one version are kept or forgotten together.
      this.#forgotten = this.#events[tooMany - 1]?.version ?? this.#forgotten;
      this.#events = this.#events.filter(({ version }) => version > this.#forgotten);
    }
    for (const listener of this.#listeners) listener(events);
  }

  #put(config: Config, version: number): readonly StoreEvent[] {
    const text = configKeyText(config.key);
    const type = this.#known.has(text) ? "MODIFIED" : "ADDED";
    this.#known.set(text, config);
    return [{ version, type, config }];
  }

  #delete(key: ConfigKey, version: number): readonly StoreEvent[] {
    const text = configKeyText(key);
    const config = this.#known.get(text);
    this.#known.delete(text);
    return config === undefined
      ? []
      : [{ version, type: "DELETED", config: { ...config, resourceVersion: String(version) } }];
  }
}

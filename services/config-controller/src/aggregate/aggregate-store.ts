/** One view of all sources: of two with the same object the first in order wins, and the conflict is known. */
import {
  type Config,
  type ConfigChange,
  type ConfigKey,
  type ConfigKeyText,
  configKeyText,
  equalJson,
} from "@flotilla/model";

export interface Conflict {
  readonly key: ConfigKey;
  readonly winner: string;
  readonly ignored: readonly string[];
}

export class AggregateStore {
  readonly #order: readonly string[];
  /** By key: the source's place in the order → its object. */
  readonly #rows = new Map<ConfigKeyText, Map<number, Config>>();

  /** Names of the sources, the one that wins first. */
  constructor(order: readonly string[]) {
    this.#order = order;
  }

  /** The changes of one source → what they change in the view. */
  apply(source: string, changes: readonly ConfigChange[]): readonly ConfigChange[] {
    const rank = this.#order.indexOf(source);
    if (rank === -1) throw new RangeError(`${source} is none of ${this.#order.join(", ")}`);
    return changes.flatMap((change) => {
      const text = configKeyText(change.key);
      const before = this.get(change.key);
      const row = this.#rows.get(text) ?? new Map<number, Config>();
      if (change.op === "put") row.set(rank, change.value);
      else row.delete(rank);
      if (row.size === 0) this.#rows.delete(text);
      else this.#rows.set(text, row);
      return effect(change.key, before, this.get(change.key));
    });
  }

  get(key: ConfigKey): Config | undefined {
    const row = this.#rows.get(configKeyText(key));
    return row === undefined ? undefined : row.get(Math.min(...row.keys()));
  }

  all(): readonly Config[] {
    return [...this.#rows.values()]
      .map((row) => row.get(Math.min(...row.keys())))
      .filter((config) => config !== undefined);
  }

  /** `namespace` absent: of all namespaces. */
  list(kind: string, namespace?: string): readonly Config[] {
    return this.all().filter(
      ({ key }) => key.kind === kind && (namespace === undefined || key.namespace === namespace),
    );
  }

  /** How many objects of each kind are in force. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const text of this.#rows.keys()) {
      const kind = text.slice(0, text.indexOf("/"));
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    return counts;
  }

  conflicts(): readonly Conflict[] {
    return [...this.#rows.values()]
      .filter((row) => row.size > 1)
      .flatMap((row) => {
        const [first, ...others] = [...row.keys()].sort((a, b) => a - b).map((rank) => this.#order[rank] ?? "");
        const [config] = row.values();
        return first === undefined || config === undefined ? [] : [{ key: config.key, winner: first, ignored: others }];
      });
  }
}

function effect(key: ConfigKey, before: Config | undefined, after: Config | undefined): readonly ConfigChange[] {
  if (after === undefined) return before === undefined ? [] : [{ type: "config", op: "delete", key }];
  return before !== undefined && equalJson(content(before), content(after))
    ? []
    : [{ type: "config", op: "put", key, value: after }];
}

/** Where it stands may change without the object changing. */
function content({ provenance: _, ...rest }: Config): Omit<Config, "provenance"> {
  return rest;
}

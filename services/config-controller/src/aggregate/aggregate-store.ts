/**
 * One view of all sources: of two with the same object the first in order wins, and the conflict is known. Objects of namespaces that
 * discoverySelectors leave out are held, but are not in the view. Selects the namespaces in view by discoverySelectors, as the labels of
 * namespaces and the selectors change.
 */
import {
  type Config,
  type ConfigChange,
  type ConfigKey,
  type ConfigKeyText,
  configKeyText,
  discoverySelectors,
  equalJson,
  isDiscovered,
  type LabelSelector,
  type Labels,
  parseClusterObjectName,
  parseConfigKey,
} from "@flotilla/model";
import { ConfigTable, type HeldConfig } from "../store/config-table.ts";

export interface Conflict {
  readonly key: ConfigKey;
  readonly winner: string;
  readonly ignored: readonly string[];
}

export class AggregateStore {
  readonly #tables: ReadonlyMap<string, ConfigTable>;
  /** Keys that more than one source has. */
  readonly #doubled = new Map<ConfigKeyText, ConfigKey>();
  readonly #discovery = new DiscoveryView();
  readonly #onProblems: () => void;

  /** Names of the sources, the one that wins first. `onProblems`: called when `conflicts` or `problems` may give something else. */
  constructor(order: readonly string[], onProblems: () => void = () => undefined) {
    this.#tables = new Map(order.map((source) => [source, new ConfigTable({ isPacked: true })]));
    this.#onProblems = onProblems;
  }

  /** The objects that one source has in force, seen or hidden by another. */
  tableOf(source: string): ConfigTable {
    const table = this.#tables.get(source);
    if (table === undefined) throw new RangeError(`${source} is none of ${[...this.#tables.keys()].join(", ")}`);
    return table;
  }

  /** The changes of one source → what they change in the view. `eventTimeMs`: when the source changed. */
  apply(source: string, changes: readonly ConfigChange[], eventTimeMs?: number): ConfigChange[] {
    const table = this.tableOf(source);
    const [wrong] = this.problems();
    let isDoubled = false;
    const effects = changes.flatMap((change) => {
      const before = this.get(change.key);
      if (change.op === "put") table.put(change.value, eventTimeMs);
      else table.delete(change.key);
      isDoubled = this.#noteHolders(change.key) || isDoubled;
      const isOwn = change.op === "put" && this.hiddenBy(source, change.key) === undefined;
      return effect(change.key, before, isOwn ? change.value : this.get(change.key));
    });
    const inView = this.#inView(effects);
    if (isDoubled || this.problems()[0] !== wrong) this.#onProblems();
    return inView;
  }

  /** True where it is in the view. */
  has(key: ConfigKey): boolean {
    return this.#discovery.isInView(key) && [...this.#tables.values()].some((table) => table.has(key));
  }

  /** The first source before this one that has the object too, and so hides it. */
  hiddenBy(source: string, key: ConfigKey): string | undefined {
    for (const [name, table] of this.#tables) {
      if (name === source) return undefined;
      if (table.has(key)) return name;
    }
    return undefined;
  }

  get(key: ConfigKey): Config | undefined {
    for (const table of this.#tables.values()) {
      const config = table.get(key);
      if (config !== undefined) return config;
    }
    return undefined;
  }

  all(): readonly Config[] {
    return this.#kinds().flatMap((kind) => this.list(kind));
  }

  /** All as they are now; each is unpacked when its turn comes, so that not all of them are at once. */
  snapshot(): Iterable<Config> {
    const held = this.#kinds().flatMap((kind) =>
      [...this.#tables].flatMap(([source, table]) =>
        table.held(kind).filter(({ text }) => {
          const key = parseConfigKey(text);
          return this.#discovery.isInView(key) && !this.#isHidden(key, source);
        }),
      ),
    );
    return unpacked(held);
  }

  /** The discoverySelectors in force. */
  get selectors(): readonly LabelSelector[] {
    return this.#discovery.selectors;
  }

  /** Selectors that are wrong: those before stay in force. */
  problems(): readonly SelectorProblem[] {
    return this.#discovery.problems();
  }

  /** `namespace` absent: of all namespaces. */
  list(kind: string, namespace?: string): readonly Config[] {
    return this.#keysOf(kind, namespace).flatMap((key) => (this.#discovery.isInView(key) ? (this.get(key) ?? []) : []));
  }

  /** How many objects of each kind are in force. */
  counts(): ReadonlyMap<string, number> {
    return new Map(
      this.#kinds().map((kind) => [kind, this.#keysOf(kind).filter((key) => this.#discovery.isInView(key)).length]),
    );
  }

  conflicts(): readonly Conflict[] {
    return [...this.#doubled.values()].flatMap((key) => {
      const [winner, ...ignored] = this.#holders(key);
      return winner === undefined ? [] : [{ key, winner, ignored }];
    });
  }

  /** The effects that are in view, and what a changed view adds and takes away. */
  #inView(effects: readonly ConfigChange[]): ConfigChange[] {
    const changes = new Map<ConfigKeyText, ConfigChange>();
    const add = (change: ConfigChange): void => void changes.set(configKeyText(change.key), change);
    for (const change of effects) {
      if (this.#discovery.isInView(change.key)) add(change);
      for (const namespace of this.#discovery.note(change, () => this.#namespaces()))
        for (const key of this.#kinds().flatMap((kind) => this.#keysOf(kind, namespace))) {
          const value = this.#discovery.isInView(key) ? this.get(key) : undefined;
          add({ type: "config", key, ...(value === undefined ? { op: "delete" } : { op: "put", value }) });
        }
    }
    return [...changes.values()];
  }

  #namespaces(): ReadonlySet<string> {
    const keys = this.#kinds().flatMap((kind) => this.#keysOf(kind));
    return new Set(keys.map(({ namespace }) => namespace));
  }

  /** Of objects that no other source hides, in view or not. */
  #keysOf(kind: string, namespace?: string): readonly ConfigKey[] {
    return [...this.#tables].flatMap(([source, table]) =>
      [...table.keysOf(kind)].filter(
        (key) => (namespace === undefined || key.namespace === namespace) && !this.#isHidden(key, source),
      ),
    );
  }

  #kinds(): readonly string[] {
    return [...new Set([...this.#tables.values()].flatMap((table) => table.kinds()))];
  }

  #holders(key: ConfigKey): readonly string[] {
    return [...this.#tables].filter(([, table]) => table.has(key)).map(([source]) => source);
  }

  /** True when it is, or was, in more than one source. */
  #noteHolders(key: ConfigKey): boolean {
    if (this.#holders(key).length <= 1) return this.#doubled.delete(configKeyText(key));
    this.#doubled.set(configKeyText(key), key);
    return true;
  }

  #isHidden(key: ConfigKey, source: string): boolean {
    return this.#doubled.has(configKeyText(key)) && this.#holders(key)[0] !== source;
  }
}

function* unpacked(held: readonly HeldConfig[]): Generator<Config, void, undefined> {
  for (const { read } of held) yield read();
}

function effect(key: ConfigKey, before: Config | undefined, after: Config | undefined): readonly ConfigChange[] {
  if (after === undefined) return before === undefined ? [] : [{ type: "config", op: "delete", key }];
  return before !== undefined && equalJson(content(before), content(after))
    ? []
    : [{ type: "config", op: "put", key, value: after }];
}

/** Its place may change without the object changing, and its status is no part of it. */
function content({ provenance: _, resourceVersion: __, ...rest }: Config): Partial<Config> {
  return rest;
}

export interface SelectorProblem {
  readonly object: string;
  readonly field: string;
  readonly reason: string;
}

class DiscoveryView {
  #selectors: readonly LabelSelector[] = [];
  #problem: SelectorProblem | undefined;
  readonly #labels = new Map<string, Labels>();

  get selectors(): readonly LabelSelector[] {
    return this.#selectors;
  }

  /** Objects without a namespace always are; those of other clusters are selected among the namespaces there. */
  isInView({ namespace, name = "" }: Pick<ConfigKey, "namespace"> & { readonly name?: string }): boolean {
    if (parseClusterObjectName(name) !== undefined) return true;
    return namespace === "" || isDiscovered(this.#selectors, namespace, this.#labels.get(namespace));
  }

  /** Selectors that are wrong: those before stay in force. */
  problems(): readonly SelectorProblem[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  /** Takes in what changed, and gives the namespaces that came into view or left it. `known`: those that have objects. */
  note(change: ConfigChange, known: () => Iterable<string>): readonly string[] {
    const { kind, name } = change.key;
    if (kind !== "Namespace" && kind !== "MeshConfig") return [];
    const concerned = kind === "Namespace" ? [name] : [...known()];
    const look = () => concerned.map((namespace) => this.isInView({ namespace }));
    const before = look();
    if (kind === "MeshConfig") this.#select(change.op === "put" ? change.value.spec : undefined);
    else if (change.op === "put") this.#labels.set(name, change.value.labels);
    else this.#labels.delete(name);
    const after = look();
    return concerned.filter((_, index) => before[index] !== after[index]);
  }

  #select(meshSpec: unknown): void {
    const read = discoverySelectors(meshSpec);
    this.#problem = undefined;
    if ("selectors" in read) this.#selectors = read.selectors;
    else
      this.#problem = { object: "MeshConfig", field: read.field, reason: `${read.reason}: the selectors before stay` };
  }
}

/** Which namespaces discoverySelectors leave in view, as the labels of namespaces and the selectors change. */
import {
  type ConfigChange,
  type ConfigKey,
  discoverySelectors,
  isDiscovered,
  type LabelSelector,
  type Labels,
} from "@flotilla/model";

export interface SelectorProblem {
  readonly object: string;
  readonly field: string;
  readonly reason: string;
}

export class DiscoveryView {
  #selectors: readonly LabelSelector[] = [];
  #problem: SelectorProblem | undefined;
  readonly #labels = new Map<string, Labels>();

  /** What has no namespace always is. */
  isInView({ namespace }: Pick<ConfigKey, "namespace">): boolean {
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

/**
 * Holds back the objects of namespaces that discoverySelectors leave out, live: when the labels of a namespace or the selectors
 * change, objects that come into view are put and those that leave it are deleted.
 */
import { discoverySelectors, isDiscovered, type LabelSelector, type Labels, objectKey } from "@flotilla/model";
import type { RegistryProblem } from "../registry/problem.ts";
import type { RegistryInput } from "../registry/registry-input.ts";

/** Inputs with a key, a namespace's objects and configuration; others pass. */
type Keyed = Extract<RegistryInput, { readonly type: "object" | "config" }>;
type Put = Extract<Keyed, { readonly op: "put" }>;

/**
 * Filters objects by the namespaces that discoverySelectors select; every call returns the puts and deletes that result
 * from it.
 */
export class DiscoveryFilter {
  #selectors: readonly LabelSelector[] = [];
  #problem: RegistryProblem | undefined;
  readonly #labels = new Map<string, Labels>();
  /** By namespace: what there is, in view or not. */
  readonly #objects = new Map<string, Map<string, Put>>();

  /** The same inputs without those out of view, and what a changed view adds and takes away. */
  apply<Input extends RegistryInput>(inputs: readonly Input[]): readonly Input[] {
    const passed: RegistryInput[] = [];
    for (const input of inputs) {
      if (input.type !== "object" && input.type !== "config") {
        passed.push(input);
        continue;
      }
      const { kind, namespace, name } = keyOf(input);
      if (kind === "MeshConfig" || kind === "Namespace") {
        const concerned = kind === "Namespace" ? [name] : [...this.#objects.keys()];
        passed.push(input, ...this.#look(concerned, () => this.#note(kind, name, input)));
      } else if (namespace === "") passed.push(input);
      else {
        this.#hold(namespace, `${input.type} ${kind}/${name}`, input);
        if (this.isInView(namespace)) passed.push(input);
      }
    }
    // Repeated and removed inputs are of the types that came in before.
    return passed as readonly RegistryInput[] as readonly Input[];
  }

  isInView(namespace: string): boolean {
    return isDiscovered(this.#selectors, namespace, this.#labels.get(namespace));
  }

  problems(): readonly RegistryProblem[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  #note(kind: "MeshConfig" | "Namespace", name: string, input: Keyed): void {
    if (kind === "Namespace") {
      if (input.op === "delete") this.#labels.delete(name);
      else this.#labels.set(name, input.type === "object" ? (input.object.metadata.labels ?? {}) : input.value.labels);
      return;
    }
    const read = discoverySelectors(input.op === "put" && input.type === "config" ? input.value.spec : undefined);
    this.#problem = undefined;
    if ("selectors" in read) this.#selectors = read.selectors;
    else
      this.#problem = { object: "MeshConfig", field: read.field, reason: `${read.reason}: the selectors before stay` };
  }

  #hold(namespace: string, text: string, input: Keyed): void {
    const known = this.#objects.get(namespace);
    if (input.op === "put") {
      if (known === undefined) this.#objects.set(namespace, new Map([[text, input]]));
      else known.set(text, input);
      return;
    }
    known?.delete(text);
    if (known?.size === 0) this.#objects.delete(namespace);
  }

  #look(namespaces: readonly string[], change: () => void): readonly Keyed[] {
    const before = namespaces.map((namespace) => [namespace, this.isInView(namespace)] as const);
    change();
    return before.flatMap(([namespace, was]) => {
      const is = this.isInView(namespace);
      if (is === was) return [];
      const objects = [...(this.#objects.get(namespace)?.values() ?? [])];
      return is ? objects : objects.map(removal);
    });
  }
}

function keyOf(input: Keyed): { readonly kind: string; readonly namespace: string; readonly name: string } {
  return input.type === "object" && input.op === "put" ? objectKey(input.object) : input.key;
}

function removal(put: Put): Keyed {
  if (put.type === "config") return { type: "config", op: "delete", key: put.key };
  const cluster = put.cluster === undefined ? {} : { cluster: put.cluster };
  return { type: "object", op: "delete", key: objectKey(put.object), ...cluster };
}

/** What was read of clusters and is not handed on yet: the last of each object, so that a slow reader gets changes joined. */
import { objectKey } from "@flotilla/model";
import type { RegistryInput } from "@flotilla/registry";

export class PendingInputs {
  #inputs = new Map<string, RegistryInput>();
  #sinceMs: number | undefined;

  get isEmpty(): boolean {
    return this.#inputs.size === 0;
  }

  add(input: RegistryInput, nowMs: number): void {
    this.#sinceMs ??= nowMs;
    if (input.type === "cluster") {
      for (const [text, one] of this.#inputs)
        if ("cluster" in one && one.cluster === input.cluster) this.#inputs.delete(text);
    }
    const text = nameOf(input);
    this.#inputs.delete(text);
    this.#inputs.set(text, input);
  }

  /** In the order in which each was last changed; `sinceMs` is the time of the first. */
  take(): { readonly inputs: readonly RegistryInput[]; readonly sinceMs: number | undefined } {
    const taken = { inputs: [...this.#inputs.values()], sinceMs: this.#sinceMs };
    this.#inputs = new Map();
    this.#sinceMs = undefined;
    return taken;
  }
}

function nameOf(input: RegistryInput): string {
  if (input.type === "cluster") return `cluster ${input.cluster}`;
  if (input.type !== "object") throw new TypeError(`a cluster gave a change of type ${input.type}`);
  const { kind, namespace, name } = input.op === "put" ? objectKey(input.object) : input.key;
  return `${input.cluster ?? ""} ${kind}/${namespace}/${name}`;
}

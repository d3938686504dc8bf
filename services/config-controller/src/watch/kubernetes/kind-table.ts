/** The objects of one kind as they were last good: what an object is refused for changes nothing of what is in force. */
import type { ConfigChange, ConfigKey, KubeObject } from "@flotilla/model";
import type { Admission, SourceProblem } from "@flotilla/sources";
import { configPut } from "../config-change.ts";

export interface KindTableOptions {
  readonly kind: string;
  readonly admission: Admission;
  readonly revision: string;
  /** Where objects come from, for their provenance. */
  readonly source: string;
}

/** Written by kubectl for itself; as large as the object. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

export class KindTable {
  readonly #options: KindTableOptions;
  readonly #inForce = new Map<string, ConfigKey>();
  readonly #problems = new Map<string, readonly SourceProblem[]>();

  constructor(options: KindTableOptions) {
    this.#options = options;
  }

  get problems(): readonly SourceProblem[] {
    return [...this.#problems.values()].flat();
  }

  /** Everything there is: what is not in it is gone. */
  replace(objects: readonly KubeObject[]): readonly ConfigChange[] {
    const names = new Set(objects.map(nameOf));
    const gone = [...new Set([...this.#inForce.keys(), ...this.#problems.keys()])].filter((name) => !names.has(name));
    return [...gone.flatMap((name) => this.#delete(name)), ...objects.flatMap((object) => this.put(object))];
  }

  put(object: KubeObject): readonly ConfigChange[] {
    const { admission, revision, source } = this.#options;
    const name = nameOf(object);
    const findings = admission.check(object);
    if (findings.length > 0) {
      const place = { file: "", line: 0, object: `${object.kind}/${name}` };
      this.#problems.set(
        name,
        findings.map((finding) => ({ ...place, ...finding })),
      );
      return [];
    }
    this.#problems.delete(name);
    const location = `${object.metadata.resourceVersion ?? ""}`;
    const change = configPut(lean(object), { source, location }, revision);
    if (change === undefined) return [];
    if (change.op === "put") this.#inForce.set(name, change.key);
    else if (!this.#inForce.delete(name)) return [];
    return [change];
  }

  delete(object: KubeObject): readonly ConfigChange[] {
    return this.#delete(nameOf(object));
  }

  /** The kind is served no more. */
  clear(): readonly ConfigChange[] {
    return this.replace([]);
  }

  #delete(name: string): readonly ConfigChange[] {
    this.#problems.delete(name);
    const key = this.#inForce.get(name);
    this.#inForce.delete(name);
    return key === undefined ? [] : [{ type: "config", op: "delete", key }];
  }
}

function nameOf({ metadata: { namespace = "", name } }: KubeObject): string {
  return `${namespace}/${name}`;
}

function lean(object: KubeObject): KubeObject {
  const { [lastApplied]: _, ...annotations } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations } };
}

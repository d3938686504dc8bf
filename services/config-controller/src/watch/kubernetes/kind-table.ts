/** The last valid versions of the objects of one kind: a refused version changes nothing in force. */
import { hash } from "node:crypto";
import {
  type ConfigChange,
  type KubeObject,
  type Labels,
  type ObjectName,
  objectName,
  objectNameOf,
} from "@flotilla/model";
import type { Admission, SourceProblem } from "@flotilla/sources";
import { configPut } from "../config-source.ts";
import { revisionLabel } from "./revision-tags.ts";

export interface KindTableOptions {
  readonly admission: Admission;
  /** The revision that an object labelled `label` is read by here; the own one unless the label is a tag of it. */
  readonly revisionOf: (label: string | undefined) => string;
  /** Where objects come from, for their provenance. */
  readonly source: string;
  /** The rejected objects changed. */
  readonly onProblems: () => void;
  /** An object that is in force was added, changed or deleted. */
  readonly onEvent?: ((kind: string, event: ObjectEvent) => void) | undefined;
}

export type ObjectEvent = "add" | "update" | "delete";

export class KindTable {
  readonly #options: KindTableOptions;
  /** The mesh's name of the kind. */
  #kind = "";
  /** Names of what is in force. */
  readonly #inForce = new Set<ObjectName>();
  /** Of whatever revision: a tag may make them ours, or others'. */
  readonly #labelled = new Map<ObjectName, KubeObject>();
  readonly #problems = new Map<ObjectName, readonly SourceProblem[]>();
  /** Digests of what is in force, see `digestOf`. */
  readonly #digests = new Map<ObjectName, string>();

  constructor(options: KindTableOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#inForce.size;
  }

  get problems(): readonly SourceProblem[] {
    return [...this.#problems.values()].flat();
  }

  /** Of what is in force. */
  get names(): Iterable<ObjectName> {
    return this.#inForce;
  }

  /** All objects: others are gone, unless they are spared. Object by object: a list may be long. */
  *replace(
    objects: readonly KubeObject[],
    spared: ReadonlySet<ObjectName> = new Set(),
  ): Generator<readonly ConfigChange[], void, undefined> {
    const names = new Set([...objects.map(objectNameOf), ...spared]);
    const known = [...this.#inForce, ...this.#labelled.keys(), ...this.#problems.keys()];
    const gone = [...new Set(known)].filter((name) => !names.has(name));
    for (const name of gone) yield this.remove(name);
    for (const object of objects) yield this.put(object);
  }

  /** To be waited for before `put` of the same object, and before a list that has it: see `Admission.prepare`. */
  prepare(object: KubeObject): Promise<void> | undefined {
    return this.#options.admission.prepare?.(object);
  }

  /** True where the object in force differs from this one in its reports alone: most of the writes of an object are of its status. */
  isInForce(object: KubeObject): boolean {
    const digest = this.#digests.get(objectNameOf(object));
    return digest !== undefined && digest === digestOf(object);
  }

  put(object: KubeObject): readonly ConfigChange[] {
    const name = objectNameOf(object);
    this.#digests.delete(name);
    const findings = this.#options.admission.check(object);
    if (findings.length > 0) {
      const place = { file: "", line: 0, object: `${object.kind}/${name}` };
      this.#problems.set(
        name,
        findings.map((finding) => ({ ...place, ...finding })),
      );
      this.#options.onProblems();
      return [];
    }
    this.#endProblem(name);
    const lean = leanObject(object);
    if (lean.metadata.labels?.[revisionLabel] === undefined) this.#labelled.delete(name);
    else this.#labelled.set(name, lean);
    const digest = digestOf(object);
    if (digest !== undefined) this.#digests.set(name, digest);
    return this.#take(name, lean);
  }

  delete(object: KubeObject): readonly ConfigChange[] {
    return this.remove(objectNameOf(object));
  }

  remove(name: ObjectName): readonly ConfigChange[] {
    this.#endProblem(name);
    this.#digests.delete(name);
    this.#labelled.delete(name);
    if (!this.#inForce.delete(name)) return [];
    this.#options.onEvent?.(this.#kind, "delete");
    const key = { kind: this.#kind, ...objectName.read(name) };
    return [{ type: "config", op: "delete", key }];
  }

  /** After `revisionOf` answers otherwise than before. */
  reconsider(): readonly ConfigChange[] {
    return [...this.#labelled].flatMap(([name, object]) => this.#take(name, object));
  }

  #endProblem(name: ObjectName): void {
    if (this.#problems.delete(name)) this.#options.onProblems();
  }

  #take(name: ObjectName, object: KubeObject): readonly ConfigChange[] {
    const { revisionOf, source } = this.#options;
    const { labels = {}, resourceVersion: location = "" } = object.metadata;
    const change = configPut(object, { source, location }, revisionOf(labels[revisionLabel]));
    if (change === undefined) return [];
    this.#kind = change.key.kind;
    const isKnown = this.#inForce.has(name);
    if (change.op === "put") this.#inForce.add(name);
    else if (!this.#inForce.delete(name)) return [];
    this.#options.onEvent?.(this.#kind, change.op === "delete" ? "delete" : isKnown ? "update" : "add");
    return [change];
  }
}

/** Written by kubectl for itself; as large as the object. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
/** Reports about the object: nothing is generated from them. */
const reports: ReadonlySet<string> = new Set([
  ...["conditions", "validationMessages", "observedGeneration", "parents"],
  // Of Gateways and ListenerSets: each route that attaches is counted there.
  ...["listeners", "attachedListenerSets"],
  // Of Ingresses.
  "loadBalancer",
]);

/** An object without what others wrote into it for themselves: it may be larger than the object, and changes without it. */
function leanObject(object: KubeObject): KubeObject {
  const { status, ...rest } = object;
  const lean = leanStatus(status);
  return {
    ...rest,
    metadata: { ...object.metadata, annotations: leanAnnotations(object.metadata.annotations ?? {}) },
    ...(lean !== undefined && { status: lean }),
  } as KubeObject;
}

/** Of an object but for its reports. The generation stands for everything that is no metadata; undefined where there is none. */
function digestOf({ metadata, status }: KubeObject): string | undefined {
  if (typeof metadata.generation !== "number") return undefined;
  const {
    resourceVersion: _,
    managedFields: __,
    ...own
  } = metadata as KubeObject["metadata"] & {
    readonly managedFields?: unknown;
  };
  const annotations = leanAnnotations(metadata.annotations ?? {});
  return hash("sha256", JSON.stringify([{ ...own, annotations }, leanStatus(status)]), "base64");
}

export function leanAnnotations({ [lastApplied]: _, ...annotations }: Labels): Labels {
  return annotations;
}

/** Undefined when nothing is left of it. */
export function leanStatus(status: unknown): unknown {
  const lean = Object.entries(status ?? {}).filter(([field]) => !reports.has(field));
  return lean.length > 0 ? Object.fromEntries(lean) : undefined;
}

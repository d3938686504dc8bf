/**
 * A source of configuration: its groups of changes, problems and conditions, and how an object that it read becomes a
 * change. The source that reads a directory.
 */
import { isForeignKind, isIstioKind, kindNamed, kindOf } from "@flotilla/kinds";
import type { Config, ConfigChange, ConfigKey, KubeObject, Provenance } from "@flotilla/model";
import { configKind, configOf, withoutNullFields } from "@flotilla/registry/config";
import {
  type Admission,
  directorySource,
  type ForeignKind,
  type SourceChange,
  type SourceProblem,
} from "@flotilla/sources";
import { createValidator, type Problem, unknownKindText } from "@flotilla/validation";
import { maxInlineLength, ValidationThread } from "@flotilla/validation/aside";

/** Objects that were written together. The first group of a source is everything it has. */
export interface ConfigGroup {
  /** Handed over: the consumer of the group empties it when it is done. */
  readonly changes: ConfigChange[];
  readonly eventTimeMs: number;
  /** Accounts that wrote it over the API. */
  readonly caller?: string;
  /** With it the source has yielded all its objects: others that are in force are gone. Always so of the first. */
  readonly isComplete?: boolean;
}

export interface ConfigSource extends AsyncDisposable {
  readonly name: string;
  groups(stop: AbortSignal): AsyncIterable<ConfigGroup>;
  problems(): readonly SourceProblem[];
  /** Objects of kinds that mean nothing to the mesh: how many of each, by `apiVersion kind`. */
  ignored?(): ReadonlyMap<ForeignKind, number>;
  /** True where it is uncertain whether the source has this object: the version in force stays. */
  isIncomplete?(key: ConfigKey): boolean;
  /** The condition that readiness reports for it now; undefined when all is well. */
  condition?(): SourceCondition | undefined;
}

export interface SourceCondition {
  readonly detail: string;
  /** The service is not ready as long as it holds. */
  readonly blocks: boolean;
}

/**
 * An object that was read as a change of configuration, for the revision that this mesh is. Nothing for kinds that are no
 * configuration; a delete for what is meant for another revision.
 */
export function configPut(
  object: KubeObject,
  provenance: Provenance | undefined,
  revision: string,
): ConfigChange | undefined {
  const value = configOf(withoutNullFields(object.kind, object), provenance);
  return value && configChangeOf(value, revision);
}

/** A delete for what is meant for another revision: one that moves there is gone from here. */
export function configChangeOf(value: Config, revision: string): ConfigChange {
  if (isOfOtherRevision(value, revision)) return { type: "config", op: "delete", key: value.key };
  return { type: "config", op: "put", key: value.key, value };
}

function isOfOtherRevision({ key, labels }: Config, revision: string): boolean {
  const wanted = labels["istio.io/rev"];
  return wanted !== undefined && wanted !== revision && isIstioKindNamed(key.kind);
}

/** On Namespaces, Secrets and the like the label selects the injecting revision, not the reading one. */
function isIstioKindNamed(name: string): boolean {
  const kind = kindNamed(name);
  return kind !== undefined && (isIstioKind(kind) || kind.group === "gateway.networking.k8s.io");
}

interface DirectoryOptions {
  readonly path: string;
  readonly admission: Admission;
  /** Objects labelled for other revisions are not for this mesh; those without the label are for all. */
  readonly revision: string;
  readonly onProblems: () => void;
}

export function configDirectory({ path, admission, revision, onProblems }: DirectoryOptions): ConfigSource {
  const source = directorySource({ path, ...admission, onProblems });
  return {
    name: source.name,
    problems: () => source.problems(),
    ignored: () => source.ignored(),
    async *groups(stop): AsyncGenerator<ConfigGroup, void, undefined> {
      for await (const { changes, eventTimeMs } of source.groups(stop)) {
        yield { changes: changes.flatMap((change) => configChange(change, revision)), eventTimeMs };
      }
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

function configChange(change: SourceChange, revision: string): readonly ConfigChange[] {
  if (change.op === "put") return [configPut(change.object, change.provenance, revision) ?? []].flat();
  const { group, namespace, name } = change.key;
  const kind = configKind(`${group}/`, change.key.kind);
  return kind === undefined ? [] : [{ type: "config", op: "delete", key: { kind, namespace, name } }];
}

/** Admission for a directory: configuration that fits its schema and makes sense, and kinds of no concern here. */
export function configAdmission(): Admission {
  const validate = createValidator();
  const thread = new ValidationThread();
  /** Of large objects, until they are checked. */
  const verdicts = new WeakMap<KubeObject, readonly Problem[]>();
  return {
    kindOf(apiVersion, kind) {
      const row = kindOf({ apiVersion, kind });
      const isForeign = isForeignKind({ apiVersion, kind });
      if (row === undefined) return isForeign ? { namespaced: true, wanted: false, isForeign } : undefined;
      if (configKind(apiVersion, kind) !== undefined) return { namespaced: row.namespaced, wanted: true };
      return { namespaced: row.namespaced, wanted: false, isForeign };
    },
    unknownKind: (apiVersion, kind) => unknownKindText({ apiVersion, kind }),
    prepare(object) {
      const json = JSON.stringify(object);
      if (json.length <= maxInlineLength) return undefined;
      return thread.validate({ json, object: { ...object } }).then((found) => void verdicts.set(object, found));
    },
    check: (object) =>
      (verdicts.get(object) ?? validate({ ...object })).flatMap(({ field, reason, severity }) =>
        severity === "error" ? [{ field, reason }] : [],
      ),
  };
}

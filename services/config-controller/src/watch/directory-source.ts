/** The objects of a directory as configuration. */

import { isForeignKind, kindOf } from "@flotilla/kinds";
import type { ConfigChange } from "@flotilla/model";
import { configKind } from "@flotilla/registry/config";
import { type Admission, directorySource, type SourceChange } from "@flotilla/sources";
import { createValidator } from "@flotilla/validation";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";
import { configPut } from "./config-source.ts";

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

/** What a directory may hold: configuration that fits its schema and makes sense, and kinds of no concern here. */
export function configAdmission(): Admission {
  const validate = createValidator();
  return {
    kindOf(apiVersion, kind) {
      const row = kindOf({ apiVersion, kind });
      const isForeign = isForeignKind({ apiVersion, kind });
      if (row === undefined) return isForeign ? { namespaced: true, wanted: false, isForeign } : undefined;
      if (configKind(apiVersion, kind) !== undefined) return { namespaced: row.namespaced, wanted: true };
      return { namespaced: row.namespaced, wanted: false, isForeign };
    },
    check: (object) =>
      validate({ ...object }).flatMap(({ field, reason, severity }) =>
        severity === "error" ? [{ field, reason }] : [],
      ),
  };
}

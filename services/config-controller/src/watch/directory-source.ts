/** The objects of a directory as configuration. */
import type { ConfigChange } from "@flotilla/model";
import { configKind } from "@flotilla/registry/config";
import { type Admission, directorySource, type SourceChange } from "@flotilla/sources";
import { configPut } from "./config-change.ts";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";

export interface DirectoryOptions {
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

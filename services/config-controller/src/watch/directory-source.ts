/** The objects of a directory as configuration. */
import type { ConfigChange } from "@flotilla/model";
import { configKind, configOf } from "@flotilla/registry/config";
import { type Admission, directorySource, type SourceChange } from "@flotilla/sources";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";

export interface DirectoryOptions {
  readonly path: string;
  readonly admission: Admission;
  readonly onProblems: () => void;
}

export function configDirectory({ path, admission, onProblems }: DirectoryOptions): ConfigSource {
  const source = directorySource({ path, ...admission, onProblems });
  return {
    name: source.name,
    problems: () => source.problems(),
    async *groups(stop): AsyncGenerator<ConfigGroup, void, undefined> {
      for await (const { changes, eventTimeMs } of source.groups(stop)) {
        yield { changes: changes.flatMap(configChange), eventTimeMs };
      }
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

function configChange(change: SourceChange): readonly ConfigChange[] {
  if (change.op === "put") {
    const value = configOf(change.object, change.provenance);
    return value === undefined ? [] : [{ type: "config", op: "put", key: value.key, value }];
  }
  const { group, namespace, name } = change.key;
  const kind = configKind(`${group}/`, change.key.kind);
  return kind === undefined ? [] : [{ type: "config", op: "delete", key: { kind, namespace, name } }];
}

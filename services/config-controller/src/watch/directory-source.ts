/** The objects of a directory as configuration. */
import { isIstioKind, kindNamed } from "@flotilla/kinds";
import type { Config, ConfigChange } from "@flotilla/model";
import { configKind, configOf } from "@flotilla/registry/config";
import { type Admission, directorySource, type SourceChange } from "@flotilla/sources";
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
    async *groups(stop): AsyncGenerator<ConfigGroup, void, undefined> {
      for await (const { changes, eventTimeMs } of source.groups(stop)) {
        yield { changes: changes.flatMap((change) => configChange(change, revision)), eventTimeMs };
      }
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

function configChange(change: SourceChange, revision: string): readonly ConfigChange[] {
  if (change.op === "put") {
    const value = configOf(change.object, change.provenance);
    if (value === undefined) return [];
    // One that moves to another revision is gone from here.
    if (isOfOtherRevision(value, revision)) return [{ type: "config", op: "delete", key: value.key }];
    return [{ type: "config", op: "put", key: value.key, value }];
  }
  const { group, namespace, name } = change.key;
  const kind = configKind(`${group}/`, change.key.kind);
  return kind === undefined ? [] : [{ type: "config", op: "delete", key: { kind, namespace, name } }];
}

function isOfOtherRevision({ key, labels }: Config, revision: string): boolean {
  const wanted = labels["istio.io/rev"];
  return wanted !== undefined && wanted !== revision && isIstioKindNamed(key.kind);
}

/** On Namespaces, Secrets and the like the label says who injects, not who reads. */
function isIstioKindNamed(name: string): boolean {
  const kind = kindNamed(name);
  return kind !== undefined && (isIstioKind(kind) || kind.group === "gateway.networking.k8s.io");
}

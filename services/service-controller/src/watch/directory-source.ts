/** Services, EndpointSlices, Pods, Nodes and Namespaces of a directory. */
import { apiGroup, ownValue } from "@flotilla/model";
import { checkKubeObject, type RegistryInput, registryKinds } from "@flotilla/registry";
import { type Admission, directorySource, type SourceChange } from "@flotilla/sources";
import type { InputGroup, InputSource } from "./input-source.ts";

export interface DirectoryOptions {
  readonly path: string;
  readonly onProblems: () => void;
}

export function objectDirectory({ path, onProblems }: DirectoryOptions): InputSource {
  const source = directorySource({ path, kindOf, check: checkKubeObject, onProblems });
  return {
    name: source.name,
    problems: () => source.problems(),
    async *groups(stop): AsyncGenerator<InputGroup, void, undefined> {
      for await (const { changes, eventTimeMs } of source.groups(stop)) {
        yield { inputs: changes.map(toInput), eventTimeMs };
      }
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

/** Kinds of others are known to others: config-controller reads the same directory and reports what nobody knows. */
const kindOf: Admission["kindOf"] = (apiVersion, kind) => ({
  namespaced: kind !== "Node" && kind !== "Namespace",
  wanted: ownValue(registryKinds, kind) === apiGroup(apiVersion),
});

function toInput(change: SourceChange): RegistryInput {
  if (change.op === "put") return { type: "object", op: "put", object: change.object };
  const { kind, namespace, name } = change.key;
  return { type: "object", op: "delete", key: { kind, namespace, name } };
}

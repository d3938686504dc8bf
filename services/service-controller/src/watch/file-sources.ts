/**
 * Sources on disk: a directory of Kubernetes objects, and one YAML file of services and endpoints (docs/registry-file.md).
 */
import { apiGroup, checkKubeObject, ownValue } from "@flotilla/model";
import { type RegistryInput, registryKinds } from "@flotilla/registry";
import { type Admission, directorySource, documentSource, type SourceChange } from "@flotilla/sources";
import type { InputGroup, InputSource } from "./input-source.ts";

interface DirectoryOptions {
  readonly path: string;
  readonly onProblems: () => void;
}

/** Services, EndpointSlices, Pods, Nodes and Namespaces of a directory. */
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

/** Kinds of others are read elsewhere: config-controller reads the same directory and reports kinds that no service supports. */
const kindOf: Admission["kindOf"] = (apiVersion, kind) => ({
  namespaced: kind !== "Node" && kind !== "Namespace",
  wanted: ownValue(registryKinds, kind) === apiGroup(apiVersion),
});

function toInput(change: SourceChange): RegistryInput {
  if (change.op === "put") return { type: "object", op: "put", object: change.object };
  const { kind, namespace, name } = change.key;
  return { type: "object", op: "delete", key: { kind, namespace, name } };
}

interface RegistryFileOptions {
  readonly path: string;
  readonly onProblems: () => void;
}

/**
 * Services and endpoints of one YAML file; docs/registry-file.md describes the form. Faults in one service are problems of the registry; a
 * file that is no list of services keeps its last good version.
 */
export function registryFile({ path, onProblems }: RegistryFileOptions): InputSource {
  const source = documentSource({ path, check, onProblems });
  return {
    name: "registry file",
    problems: () => source.problems(),
    async *groups(stop): AsyncGenerator<InputGroup, void, undefined> {
      for await (const { value, eventTimeMs } of source.versions(stop)) {
        yield { inputs: [{ type: "file", services: servicesOf(value) }], eventTimeMs };
      }
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

type Document = Readonly<Record<string, unknown>>;

function check(value: Document): readonly { readonly field: string; readonly reason: string }[] {
  const unknown = Object.keys(value).find((name) => name !== "services");
  if (unknown !== undefined) return [{ field: unknown, reason: "is not known; there is services" }];
  const { services = [] } = value;
  return Array.isArray(services) ? [] : [{ field: "services", reason: "is no list" }];
}

function servicesOf({ services = [] }: Document): readonly unknown[] {
  return services as readonly unknown[];
}

/** Services and endpoints of one YAML file; docs/registry-file.md tells the form. */
import { documentSource } from "@flotilla/sources";
import type { InputGroup, InputSource } from "./input-source.ts";

export interface RegistryFileOptions {
  readonly path: string;
  readonly onProblems: () => void;
}

/** What is wrong with one service the registry tells; a file that is no list of services keeps its last good version. */
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

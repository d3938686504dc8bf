/** MeshConfig and MeshNetworks from files of their own, merged over the defaults; followed while running. */
import type { Config, ConfigChange, JsonObject } from "@flotilla/model";
import { documentSource } from "@flotilla/sources";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";

export interface MeshDocumentOptions {
  readonly name: string;
  /** Absent: the defaults hold for good. */
  readonly path: string | undefined;
  readonly toConfig: (document: JsonObject | undefined) => Config;
  /** Findings refuse the document: the last good one stays in force. */
  readonly check: (config: Config) => readonly { readonly field: string; readonly reason: string }[];
  readonly onProblems: () => void;
}

export function meshDocument({ name, path, toConfig, check, onProblems }: MeshDocumentOptions): ConfigSource {
  if (path === undefined) return constantSource(name, toConfig(undefined));
  const source = documentSource({ path, check: (value) => check(toConfig(value as JsonObject)), onProblems });
  return {
    name,
    problems: () => source.problems(),
    async *groups(stop): AsyncGenerator<ConfigGroup, void, undefined> {
      for await (const { value, eventTimeMs } of source.versions(stop)) {
        yield { changes: [put(toConfig(value as JsonObject))], eventTimeMs };
      }
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

function constantSource(name: string, config: Config): ConfigSource {
  return {
    name,
    problems: () => [],
    async *groups(): AsyncGenerator<ConfigGroup, void, undefined> {
      yield { changes: [put(config)], eventTimeMs: Date.now() };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function put(value: Config): ConfigChange {
  return { type: "config", op: "put", key: value.key, value };
}

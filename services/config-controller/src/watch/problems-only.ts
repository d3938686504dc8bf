/** Stands for a source that cannot be opened: it has nothing, and tells why. */
import type { SourceProblem } from "@flotilla/sources";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";

export function problemsOnly(name: string, problems: readonly SourceProblem[]): ConfigSource {
  return {
    name,
    problems: () => problems,
    async *groups(): AsyncGenerator<ConfigGroup, void, undefined> {
      yield { changes: [], eventTimeMs: Date.now() };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

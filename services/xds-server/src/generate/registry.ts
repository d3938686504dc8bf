/** Selects the generator that answers a proxy for a type: by GENERATOR metadata, then by proxy type, then for all. */
import type { Proxy } from "@flotilla/model";
import type { Generator } from "./encode/generator.ts";
import { unknownKinds } from "./every-proxy/mcp-generators.ts";

export interface GeneratorRegistry {
  find(proxy: Pick<Proxy, "generator" | "type">, typeUrl: string): Generator | undefined;
}

/** Keys have the form `typeUrl`, `<proxy type>/typeUrl` or `<GENERATOR>/typeUrl`, as istiod's lookup has it. */
export function createGeneratorRegistry(generators: ReadonlyMap<string, Generator>): GeneratorRegistry {
  const unknown = unknownKinds();
  return {
    find: ({ generator, type }, typeUrl) =>
      (generator === "" ? undefined : generators.get(`${generator}/${typeUrl}`)) ??
      generators.get(`${type}/${typeUrl}`) ??
      generators.get(typeUrl) ??
      (generator === "api" ? unknown(typeUrl) : undefined),
  };
}

/** Corpus mesh-config: documents over defaults, held against Istio's own results. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { applyMeshConfig, applyProxyConfig, defaultMeshConfig, type JsonObject } from "@flotilla/model";
import { fromJson, toJson } from "@flotilla/proto";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { MeshNetworksSchema } from "@flotilla/proto/mesh/v1alpha1/network_pb";
import { meshNetworksOf } from "@flotilla/registry/config";
import { parse } from "yaml";
import type { CaseResult } from "./corpus.ts";

interface Case {
  readonly name: string;
  readonly function: string;
  readonly args: readonly [text: string, base?: JsonObject];
  readonly expected: { readonly returns: readonly [result: JsonObject, error: unknown] };
}

type Driver = (document: JsonObject, base: JsonObject) => JsonObject;

const drivers: Readonly<Record<string, Driver>> = {
  ApplyMeshConfig: (document, base) => meshJson(applyMeshConfig(base, document)),
  ApplyMeshConfigDefaults: (document) => meshJson(applyMeshConfig(defaultMeshConfig, document)),
  ApplyProxyConfig: (document, base) => {
    const before = (base["defaultConfig"] ?? {}) as JsonObject;
    return meshJson({ ...base, defaultConfig: applyProxyConfig(before, document) });
  },
  ParseMeshNetworks: (document) =>
    toJson(MeshNetworksSchema, fromJson(MeshNetworksSchema, meshNetworksOf(document).spec as never)) as JsonObject,
};

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  return cases.map(runCase);
}

function runCase({ name, function: called, args, expected }: Case): CaseResult {
  const driver = drivers[called];
  if (driver === undefined) return { name, passed: false, detail: `${called} has no counterpart here` };
  const [text, base = {}] = args;
  const [want, error] = expected.returns;
  try {
    const got = driver((parse(text) ?? {}) as JsonObject, base);
    const passed = error === null && isDeepStrictEqual(got, called === "ParseMeshNetworks" ? want : meshJson(want));
    return passed
      ? { name, passed }
      : { name, passed, detail: `want ${JSON.stringify(want)}, got ${JSON.stringify(got)}` };
  } catch (cause) {
    return { name, passed: error !== null, detail: `threw ${cause}` };
  }
}

/** Both sides in one spelling: defaults left out, names in camel case. */
function meshJson(value: JsonObject): JsonObject {
  return toJson(
    MeshConfigSchema,
    fromJson(MeshConfigSchema, value as never, { ignoreUnknownFields: true }),
  ) as JsonObject;
}

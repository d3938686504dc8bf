/** Inputs of an injection without a control plane: templates, values and MeshConfig of files, each perhaps within a ConfigMap. */
import { readFileSync } from "node:fs";
import { builtInDocuments, type InjectionConfig, parseInjectionConfig } from "@flotilla/injection";
import { applyMeshConfig, defaultMeshConfig, isObject, type JsonObject, ownValue } from "@flotilla/model";
import { hasErrors, problemText, validateMeshConfig } from "@flotilla/validation";
import { parse } from "yaml";
import { CliError } from "../errors.ts";
import { firstLine } from "../output.ts";

export interface InjectionFiles {
  readonly injectionConfig: string | undefined;
  readonly injectionValues: string | undefined;
  readonly meshConfig: string | undefined;
}

export interface InjectionInputs {
  readonly config: InjectionConfig;
  readonly mesh: JsonObject;
}

/** @throws CliError CLI_REFUSED; InjectionError INJECT_BAD_CONFIG naming template and line */
export async function readInjectionInputs(files: InjectionFiles): Promise<InjectionInputs> {
  const { injectionConfig, injectionValues, meshConfig } = files;
  const own = await builtInDocuments();
  const map = injectionConfig === undefined ? undefined : dataOfMap(injectionConfig);
  const config = textOf(injectionConfig, map, "config") ?? own.config;
  const values = textOf(injectionValues, undefined, "values") ?? textOf(undefined, map, "values") ?? own.values;
  return { config: parseInjectionConfig(config, values), mesh: readMesh(meshConfig) };
}

/** The document of a ConfigMap, else the file as it is. */
function textOf(file: string | undefined, map: JsonObject | undefined, key: string): string | undefined {
  const value = map === undefined ? undefined : ownValue(map, key);
  if (typeof value === "string") return value;
  return file === undefined ? undefined : readFileSync(file, "utf8");
}

function readMesh(file: string | undefined): JsonObject {
  if (file === undefined) return defaultMeshConfig;
  const value: unknown = parse(textOf(file, dataOfMap(file), "mesh") ?? "", { uniqueKeys: false }) ?? {};
  if (!isObject(value)) throw new CliError("CLI_REFUSED", `${file}: the MeshConfig is no object`);
  const mesh = applyMeshConfig(defaultMeshConfig, value as JsonObject);
  const problems = validateMeshConfig(mesh);
  if (hasErrors(problems))
    throw new CliError("CLI_REFUSED", problems.map((problem) => `${file}: ${problemText(problem)}`).join("\n"));
  return mesh;
}

function dataOfMap(file: string): JsonObject | undefined {
  let value: unknown;
  try {
    value = parse(readFileSync(file, "utf8"), { uniqueKeys: false });
  } catch (cause) {
    throw new CliError("CLI_REFUSED", `${file}: ${firstLine((cause as Error).message)}`, { cause });
  }
  return isObject(value) && value["kind"] === "ConfigMap" && isObject(value["data"])
    ? (value["data"] as JsonObject)
    : undefined;
}

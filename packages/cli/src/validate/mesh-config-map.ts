/** The ConfigMap `istio` of an installation: its MeshConfig and MeshNetworks, which are YAML within a field. */
import type { MeshSettings } from "@flotilla/analysis";
import { applyMeshConfig, defaultMeshConfig, isObject, type JsonObject, ownValue } from "@flotilla/model";
import { type Problem, validateMeshConfig, validateMeshNetworks } from "@flotilla/validation";
import { parse } from "yaml";

/** The maps of an installation and of its revisions; undefined for any other ConfigMap. */
export function meshConfigMapProblems(map: Readonly<Record<string, unknown>>): readonly Problem[] | undefined {
  const { metadata, data } = map;
  const name = isObject(metadata) ? metadata["name"] : undefined;
  if (typeof name !== "string" || !/^istio(?:-|$)/.test(name) || !isObject(data)) return undefined;
  if (!["mesh", "meshNetworks"].some((key) => typeof ownValue(data, key) === "string")) return undefined;
  return [
    ...within(data, "mesh", (mesh) => validateMeshConfig(applyMeshConfig(defaultMeshConfig, mesh))),
    ...within(data, "meshNetworks", validateMeshNetworks),
  ];
}

/** The settings that the ConfigMap of a revision holds, `istio` or `istio-REVISION`; those that are no YAML are left out. */
export function meshDocuments(map: Readonly<Record<string, unknown>>, revision: string): readonly MeshSettings[] {
  const { apiVersion, kind, metadata, data } = map;
  const name = revision === "default" ? "istio" : `istio-${revision}`;
  if (apiVersion !== "v1" || kind !== "ConfigMap" || !isObject(metadata) || metadata["name"] !== name) return [];
  if (!isObject(data)) return [];
  const settings = [["MeshConfig", "mesh"] as const, ["MeshNetworks", "meshNetworks"] as const];
  return settings.flatMap(([of, key]): MeshSettings[] => {
    const text = ownValue(data, key);
    const document = typeof text === "string" && text.trim() !== "" ? readDocument(text) : "";
    return isObject(document) ? [{ kind: of, document: document as JsonObject }] : [];
  });
}

/** Paths go on within the document: `data.mesh.trustDomain`. */
function within(
  data: Readonly<Record<string, unknown>>,
  key: string,
  check: (document: JsonObject) => readonly Problem[],
): readonly Problem[] {
  const text = ownValue(data, key);
  if (typeof text !== "string" || text.trim() === "") return [];
  const document = readDocument(text);
  const path = `data.${key}`;
  if (!isObject(document)) return [{ field: path, reason: document, severity: "error" }];
  return check(document as JsonObject).map((problem) => ({
    ...problem,
    field: problem.field === "" ? path : `${path}.${problem.field}`,
  }));
}

/** The reason, where the text is no YAML of an object. */
function readDocument(text: string): Readonly<Record<string, unknown>> | string {
  try {
    const value: unknown = parse(text, { uniqueKeys: false });
    return isObject(value) ? value : "is no object";
  } catch (error) {
    return `is no YAML: ${error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : String(error)}`;
  }
}

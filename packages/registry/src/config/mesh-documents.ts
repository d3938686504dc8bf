/** MeshConfig and MeshNetworks as configuration objects with well-known keys. */
import { applyMeshConfig, type Config, type ConfigKey, defaultMeshConfig, type JsonObject } from "@flotilla/model";

export const meshConfigKey: ConfigKey = { kind: "MeshConfig", namespace: "", name: "mesh" };
export const meshNetworksKey: ConfigKey = { kind: "MeshNetworks", namespace: "", name: "mesh" };

/** The documents over the defaults, the weakest first; none: the defaults alone. */
export function meshConfigOf(...documents: readonly (JsonObject | undefined)[]): Config<JsonObject> {
  const present = documents.filter((document) => document !== undefined);
  // Once over the defaults even without a document: what is a set is put in order.
  return meshObject(meshConfigKey, [{}, ...present].reduce(applyMeshConfig, defaultMeshConfig));
}

/** The last document that has networks; without one there are none. */
export function meshNetworksOf(...documents: readonly (JsonObject | undefined)[]): Config<JsonObject> {
  const last = documents.findLast((document) => document?.["networks"] !== undefined);
  return meshObject(meshNetworksKey, { networks: last?.["networks"] ?? {} });
}

function meshObject(key: ConfigKey, spec: JsonObject): Config<JsonObject> {
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
}

/** MeshConfig and MeshNetworks as configuration objects with well-known keys. */
import { applyMeshConfig, type Config, type ConfigKey, defaultMeshConfig, type JsonObject } from "@flotilla/model";

export const meshConfigKey: ConfigKey = { kind: "MeshConfig", namespace: "", name: "mesh" };
export const meshNetworksKey: ConfigKey = { kind: "MeshNetworks", namespace: "", name: "mesh" };

/** The document over the defaults; absent: the defaults alone. */
export function meshConfigOf(document: JsonObject | undefined): Config<JsonObject> {
  return meshObject(meshConfigKey, applyMeshConfig(defaultMeshConfig, document ?? {}));
}

/** Without a document there are no networks. */
export function meshNetworksOf(document: JsonObject | undefined): Config<JsonObject> {
  return meshObject(meshNetworksKey, { networks: document?.["networks"] ?? {} });
}

function meshObject(key: ConfigKey, spec: JsonObject): Config<JsonObject> {
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
}

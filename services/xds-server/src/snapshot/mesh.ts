/** MeshConfig and MeshNetworks as inputs: published like configuration, one object each. */
import { type Config, defaultMeshConfig, defaultProxyConfig, type JsonObject } from "@flotilla/model";
import { fromJson, type JsonValue, withSeconds } from "@flotilla/proto";
import { type MeshConfig, MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { type MeshNetworks, MeshNetworksSchema } from "@flotilla/proto/mesh/v1alpha1/network_pb";

/** The publisher has merged the defaults already. @throws when the document is not a MeshConfig. */
export function decodeMesh(config: Config): MeshConfig {
  return fromJson(MeshConfigSchema, withSeconds(MeshConfigSchema, config.spec as JsonValue), {
    ignoreUnknownFields: true,
  });
}

export function decodeNetworks(config: Config): MeshNetworks {
  return fromJson(MeshNetworksSchema, config.spec as JsonValue, { ignoreUnknownFields: true });
}

/** The defaults that hold until a MeshConfig arrives. */
export function defaultMesh(): MeshConfig {
  const json: JsonObject = { ...defaultMeshConfig, defaultConfig: defaultProxyConfig };
  return fromJson(MeshConfigSchema, json as JsonValue);
}

/**
 * Where MeshConfig and MeshNetworks lie, in istiod's order: in a file that is named and there, else in the ConfigMap `istio`, or
 * `istio-REVISION`, of the control plane's namespace; under it, of MeshConfig, in the ConfigMap that SHARED_MESH_CONFIG names.
 */
import { existsSync } from "node:fs";
import type { Settings } from "../../settings.ts";

export type MeshPlace =
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "config map"; readonly namespace: string; readonly name: string; readonly key: string };

type PlaceSettings = Pick<
  Settings,
  "meshConfigFile" | "meshNetworksFile" | "sharedMeshConfig" | "revision" | "namespace"
>;

/** The weakest first. */
export function meshConfigPlaces(settings: PlaceSettings, hasCluster: boolean): readonly MeshPlace[] {
  const { sharedMeshConfig: name, namespace, meshConfigFile } = settings;
  const shared = { type: "config map", namespace, key: "mesh" } as const;
  return [
    ...(name !== undefined && hasCluster ? [{ ...shared, name }] : []),
    ...ownPlace(settings, meshConfigFile, "mesh", hasCluster),
  ];
}

export function meshNetworksPlaces(settings: PlaceSettings, hasCluster: boolean): readonly MeshPlace[] {
  return ownPlace(settings, settings.meshNetworksFile, "meshNetworks", hasCluster);
}

function ownPlace(
  { revision, namespace }: PlaceSettings,
  path: string | undefined,
  key: string,
  hasCluster: boolean,
): readonly MeshPlace[] {
  if (path !== undefined && (existsSync(path) || !hasCluster)) return [{ type: "file", path }];
  if (!hasCluster) return [];
  const name = revision === "" || revision === "default" ? "istio" : `istio-${revision}`;
  return [{ type: "config map", namespace, name, key }];
}

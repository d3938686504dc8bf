/** The sources that the settings ask for, the one that wins first. */
import type { Config } from "@flotilla/model";
import { meshConfigOf, meshNetworksOf } from "@flotilla/registry/config";
import type { Settings } from "../config.ts";
import { configAdmission } from "./admission.ts";
import type { ConfigSource } from "./config-source.ts";
import { configDirectory } from "./directory-source.ts";
import { meshDocument } from "./mesh-source.ts";

export async function openSources(
  { configDir, meshConfigFile, meshNetworksFile, revision }: Settings,
  onProblems: () => void,
): Promise<readonly ConfigSource[]> {
  const checkMesh = await loadMeshCheck(meshConfigFile ?? meshNetworksFile);
  const directory =
    configDir === undefined
      ? []
      : [configDirectory({ path: configDir, admission: configAdmission(), revision, onProblems })];
  return [
    ...directory,
    meshDocument({ name: "mesh", path: meshConfigFile, toConfig: meshConfigOf, check: checkMesh, onProblems }),
    meshDocument({ name: "networks", path: meshNetworksFile, toConfig: meshNetworksOf, check: checkMesh, onProblems }),
  ];
}

/** The messages cost a third of a second and 50 MB to load: not paid by a mesh without documents. */
async function loadMeshCheck(path: string | undefined) {
  if (path === undefined) return (_: Config) => [];
  return (await import("./mesh-check.ts")).checkMeshDocument;
}

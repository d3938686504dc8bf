/** The sources that the settings ask for, the one that wins first. */
import { openKubeApi } from "@flotilla/kube-api";
import type { Config } from "@flotilla/model";
import { meshConfigOf, meshNetworksOf } from "@flotilla/registry/config";
import type { Logger } from "@flotilla/runtime";
import type { Settings } from "../config.ts";
import type { DurableStore } from "../store/durable/durable-store.ts";
import { configAdmission } from "./admission.ts";
import { apiSource } from "./api-source.ts";
import { clusterOf } from "./cluster.ts";
import type { ConfigSource } from "./config-source.ts";
import { configDirectory } from "./directory-source.ts";
import { kubernetesConfig } from "./kubernetes/kubernetes-source.ts";
import { meshDocument } from "./mesh-source.ts";

export async function openSources(
  settings: Settings,
  log: Logger,
  onProblems: () => void,
  durable?: DurableStore,
): Promise<readonly ConfigSource[]> {
  const { configDir, meshConfigFile, meshNetworksFile, revision } = settings;
  const checkMesh = await loadMeshCheck(meshConfigFile ?? meshNetworksFile);
  const directory =
    configDir === undefined
      ? []
      : [configDirectory({ path: configDir, admission: configAdmission(), revision, onProblems })];
  return [
    ...directory,
    ...(await kubernetes(settings, log, onProblems)),
    ...(durable === undefined ? [] : [apiSource(durable, revision)]),
    meshDocument({ name: "mesh", path: meshConfigFile, toConfig: meshConfigOf, check: checkMesh, onProblems }),
    meshDocument({ name: "networks", path: meshNetworksFile, toConfig: meshNetworksOf, check: checkMesh, onProblems }),
  ];
}

async function kubernetes(settings: Settings, log: Logger, onProblems: () => void): Promise<readonly ConfigSource[]> {
  const { revision } = settings;
  const cluster = await clusterOf(settings);
  if (cluster === undefined) return [];
  const common = { admission: configAdmission(), revision, log, nowMs: Date.now, random: Math.random, onProblems };
  const { watchedNamespaces: namespaces, ignoredResources: ignored, includedResources: included } = settings;
  return [kubernetesConfig({ api: openKubeApi(cluster), scope: { namespaces, ignored, included }, ...common })];
}

/** The messages cost a third of a second and 50 MB to load: not paid by a mesh without documents. */
async function loadMeshCheck(path: string | undefined) {
  if (path === undefined) return (_: Config) => [];
  return (await import("./mesh-check.ts")).checkMeshDocument;
}

/** The objects of a cluster as they are now, past any control plane. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { kinds } from "@flotilla/kinds";
import { type KubeObject as ApiObject, type KubeApi, listAll, loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import { CliError } from "../errors.ts";

/** Kinds that the cluster does not serve have no objects. @throws KubeError */
export async function clusterObjects(
  api: KubeApi,
  isWanted: (kind: string) => boolean,
): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = [];
  for (const { name, group, versions, plural, kind } of kinds) {
    if (!isWanted(name)) continue;
    for (const version of versions) {
      const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      const found = await listed(api, `${root}/${plural}`);
      if (found === undefined) continue;
      const apiVersion = group === "" ? version : `${group}/${version}`;
      objects.push(...found.map((object) => ({ ...object, apiVersion, kind }) as unknown as KubeObject));
      break;
    }
  }
  return objects;
}

async function listed(api: KubeApi, path: string): Promise<readonly ApiObject[] | undefined> {
  if ((await api.get(`${path}?limit=1`)) === undefined) return undefined;
  return (await listAll<ApiObject>(api, path)).objects;
}

/** The cluster of a kubeconfig, by default the current one of kubectl. @throws CliError CLI_USAGE; KubeError KUBE_CONFIG */
export async function openUsersCluster(
  kubeconfig: string | undefined,
  env: NodeJS.ProcessEnv,
  context?: string,
): Promise<KubeApi> {
  const file = kubeconfig ?? (env["KUBECONFIG"] || join(homedir(), ".kube/config"));
  const config = existsSync(file) ? await loadKubeConfig({ KUBECONFIG: file }, context) : undefined;
  if (config === undefined) throw new CliError("CLI_USAGE", `a kubeconfig is needed: there is no file ${file}`);
  return openKubeApi(config);
}

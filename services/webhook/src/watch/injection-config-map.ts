/**
 * The ConfigMap with injection templates and values that an installation of Istio has, followed in the cluster. Its last state is kept in a
 * file, so that a webhook that starts while the API server is away injects as before; without right to the ConfigMap the built-in templates hold.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { replaceFile } from "@flotilla/auth";
import { openApiServer } from "@flotilla/auth/cluster";
import { documentsOfMap, type InjectionDocuments, injectionMapOf, type Texts } from "@flotilla/injection";
import { type ConfigMap, follow, type KubeApi, KubeError } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";
import type { Settings } from "../settings.ts";

export interface InjectionMapOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  /** Of the last state. */
  readonly file: string;
  readonly log: Logger;
  readonly random: () => number;
}

/** Outside of a cluster the built-in documents. @throws KubeError KUBE_CONFIG */
export async function* injectionDocuments(
  settings: Settings,
  log: Logger,
  stop: AbortSignal,
): AsyncGenerator<InjectionDocuments, void, undefined> {
  const { namespace, revision, workDir } = settings;
  using api = await openApiServer(settings);
  if (api === undefined) {
    yield { source: "built-in" };
    return;
  }
  const file = join(workDir, "webhook", "injection.json");
  const options = { api, namespace, name: injectionMapOf(revision), file, log, random: Math.random };
  yield* followInjectionMap(options, stop);
}

/** Runs until `stop` fires. */
export async function* followInjectionMap(
  options: InjectionMapOptions,
  stop: AbortSignal,
): AsyncGenerator<InjectionDocuments, void, undefined> {
  const { api, namespace, name, file, log } = options;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const kept = await readKept(file, log);
  if (kept !== undefined) yield documentsOfMap(name, kept.data);
  else if (await isForbidden(api, `${path}/${name}`, stop)) {
    log.warn("no right to the ConfigMap with injection templates, the built-in ones are used", { namespace, name });
    yield { source: "built-in" };
  }
  for await (const found of follow<ConfigMap>(api, `${path}?fieldSelector=metadata.name%3D${name}`, options, stop)) {
    const data = found.find(({ metadata }) => metadata.name === name)?.data;
    yield documentsOfMap(name, data);
    await keep(file, { data }, log);
  }
}

interface Kept {
  /** Absent where there was no ConfigMap. */
  readonly data?: Texts | undefined;
}

async function isForbidden(api: KubeApi, path: string, stop: AbortSignal): Promise<boolean> {
  try {
    await api.get(path, stop);
    return false;
  } catch (error) {
    if (error instanceof KubeError) return error.status === 403;
    throw error;
  }
}

async function readKept(file: string, log: Logger): Promise<Kept | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Kept;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ENOENT")
      log.warn("saved injection templates unreadable", { file, error });
    return undefined;
  }
}

/** Not being able to keep it is no reason not to use it. */
async function keep(file: string, kept: Kept, log: Logger): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await replaceFile(file, JSON.stringify(kept), 0o600);
  } catch (error) {
    log.warn("injection templates not saved", { file, error });
  }
}

/**
 * The CustomResourceDefinitions of Istio's kinds, as this version reads them: made where they are missing, made again when they
 * are deleted, brought up to date where an older version of ours made them. Those that somebody else made are left alone.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";
import { isNewer } from "@flotilla/leadership";
import { delay, type Logger } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";

export interface Definition extends KubeObject {
  readonly spec: unknown;
}

export interface KindDefinitionsOptions {
  readonly api: KubeApi;
  readonly definitions: readonly Definition[];
  /** Of this program. */
  readonly version: string;
  readonly log: Logger;
  /** Between two looks. */
  readonly everyMs?: number;
}

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const annotations = { version: "flotilla.dev/version", digest: "flotilla.dev/definition" } as const;

/** Those that the product ships. */
export async function shippedDefinitions(): Promise<readonly Definition[]> {
  const file = fileURLToPath(import.meta.resolve("@flotilla/kinds/crds/istio.yaml"));
  const documents = parseAllDocuments(await readFile(file, "utf8"));
  return documents.flatMap((document) => (document.toJS() as Definition | null) ?? []);
}

/** Runs until `stop` fires. @throws KubeError when the API server refuses */
export async function keepDefinitions(options: KindDefinitionsOptions, stop: AbortSignal): Promise<void> {
  const left = new Set<string>();
  while (!stop.aborted) {
    for (const definition of options.definitions) {
      if (stop.aborted) return;
      try {
        await keep(definition, options, left);
      } catch (error) {
        // Away, or changed meanwhile: the next look finds what is there then.
        if (!(error instanceof KubeError) || error.code === "KUBE_REFUSED") throw error;
        options.log.debug("resource definition not saved", { name: definition.metadata.name, reason: error.message });
      }
    }
    await delay(options.everyMs ?? 60_000, stop);
  }
}

async function keep(
  definition: Definition,
  { api, version, log }: KindDefinitionsOptions,
  left: Set<string>,
): Promise<void> {
  const { name = "" } = definition.metadata;
  const digest = createHash("sha256").update(JSON.stringify(definition.spec)).digest("hex").slice(0, 32);
  const marks = { [annotations.version]: version, [annotations.digest]: digest };
  const known = await api.metadata(`${path}/${name}`);
  if (known === undefined) {
    const own = { ...definition.metadata.annotations, ...marks };
    await api.create(path, { ...definition, metadata: { ...definition.metadata, annotations: own } });
    log.info("kind defined", { name });
    return;
  }
  const { [annotations.version]: author, [annotations.digest]: written } = known.metadata.annotations ?? {};
  if (author === undefined) {
    if (!left.has(name)) log.info("definition of a kind has another owner, left unchanged", { name });
    left.add(name);
    return;
  }
  if (written === digest || isNewer(author, version) || known.metadata.deletionTimestamp !== undefined) return;
  const found = await api.get<Definition>(`${path}/${name}`);
  if (found === undefined) return;
  const metadata = { ...found.metadata, annotations: { ...found.metadata.annotations, ...marks } };
  await api.replace(`${path}/${name}`, { ...found, spec: definition.spec, metadata });
  log.info("definition of a kind updated", { name, from: author, to: version });
}

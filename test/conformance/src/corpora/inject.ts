/**
 * Corpus inject: workloads before and after sidecar injection.
 *
 * As a webhook, the pod goes in as an AdmissionReview and the patch is applied to it; as a file, the whole document is
 * injected. Both are compared with the recorded document as data: Go's marshaller leaves out empty fields and writes
 * quantities in one form, so that both sides are brought to that form first.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { decide, injectPod, injectWorkload, type Pod, parseInjectionConfig } from "@flotilla/injection";
import { parseAllDocuments } from "yaml";
import type { CaseResult } from "./corpus.ts";
import { canonical } from "./inject/canonical.ts";
import type { Json, Setting } from "./inject/setting.ts";
import { askWebhook } from "./inject/webhook.ts";

interface Case {
  readonly name: string;
  readonly input: string;
  readonly modes: readonly ("kube-inject" | "webhook")[];
  readonly expected: { readonly injected?: string; readonly errorContains?: string };
  readonly settings: {
    readonly meshConfig: string;
    readonly values: string;
    readonly templates: Readonly<Record<string, string>>;
    readonly policy: string;
    readonly defaultTemplates: readonly string[];
    readonly aliases: Readonly<Record<string, readonly string[]>> | null;
    readonly nodeKubeletVersions: readonly string[];
    readonly features: Readonly<Record<string, string>>;
  };
}

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  const results: CaseResult[] = [];
  for (const one of cases) results.push(await runCase(directory, one));
  return results;
}

async function runCase(directory: string, { name, input, modes, expected, settings }: Case): Promise<CaseResult> {
  const read = (path: string): Promise<string> => readFile(join(directory, path), "utf8");
  try {
    const setting = await readSetting(read, settings);
    const before = parseDocuments(await read(input));
    const after = expected.injected === undefined ? [] : parseDocuments(await read(expected.injected));
    const { errorContains } = expected;
    for (const mode of modes) {
      const inject = mode === "webhook" ? injectByWebhook : injectAsFile;
      const detail =
        errorContains === undefined
          ? await difference(() => inject(before, setting), after, mode)
          : await wrongFailure(() => inject(before, setting), errorContains);
      if (detail !== undefined) return { name, passed: false, detail: `${mode}: ${detail}` };
    }
    return { name, passed: true };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause instanceof Error ? cause.message : cause}` };
  }
}

async function readSetting(read: (path: string) => Promise<string>, settings: Case["settings"]): Promise<Setting> {
  const templates: Record<string, string> = {};
  for (const [name, path] of Object.entries(settings.templates)) templates[name] = await read(path);
  const { policy, defaultTemplates, aliases, features, nodeKubeletVersions } = settings;
  const document = JSON.stringify({ policy, defaultTemplates, aliases, templates });
  return {
    config: parseInjectionConfig(document, await read(settings.values)),
    mesh: JSON.parse(await read(settings.meshConfig)) as Json,
    environment: {
      revision: "default",
      nativeSidecars: nativeSidecars(features["ENABLE_NATIVE_SIDECARS"] ?? "auto", nodeKubeletVersions),
      platform: features["PLATFORM"] ?? "",
      compliancePolicy: features["COMPLIANCE_POLICY"] ?? "",
    },
  };
}

/** `auto`: when every node has them for good, which is since 1.33. */
function nativeSidecars(setting: string, kubelets: readonly string[]): boolean {
  if (setting !== "auto") return setting === "true";
  return kubelets.every((version) => Number(/^v1\.(\d+)/.exec(version)?.[1]) >= 33);
}

/** Of the namespace that the recorded cluster has. */
const namespaceAnnotations = (namespace: string): Readonly<Record<string, string>> =>
  namespace === "test-ns"
    ? {
        "openshift.io/sa.scc.uid-range": "1000620000/10000",
        "openshift.io/sa.scc.supplemental-groups": "1000620000/10000",
      }
    : {};

async function injectAsFile(
  documents: readonly Json[],
  { config, environment, mesh }: Setting,
): Promise<readonly Json[]> {
  return documents.map((document) =>
    injectWorkload(document, (pod, workload) => {
      const namespace = workload.namespace || pod.metadata.namespace || "";
      if (!decide(pod, namespace, config).inject) return undefined;
      const request = {
        pod,
        namespace,
        namespaceAnnotations: namespaceAnnotations(namespace),
        workload: { ...workload, namespace: workload.namespace || "default" },
        proxyEnv: {},
        mesh,
      };
      return injectPod(request, config, environment);
    }),
  );
}

async function injectByWebhook(documents: readonly Json[], setting: Setting): Promise<readonly Json[]> {
  return documents.map((document) =>
    injectWorkload(document, (template, workload) => {
      const owner = { apiVersion: workload.apiVersion, kind: workload.kind, name: workload.name, controller: true };
      const isOwned = workload.kind !== "Pod";
      const pod: Pod = {
        apiVersion: "v1",
        kind: "Pod",
        ...template,
        metadata: {
          ...template.metadata,
          ...(isOwned ? { generateName: `${workload.name}-`, ownerReferences: [owner] } : {}),
        },
      };
      const injected = askWebhook(
        pod,
        workload.namespace || "default",
        namespaceAnnotations(workload.namespace),
        setting,
      );
      if (injected === undefined) return undefined;
      const { ownerReferences: _, generateName: __, ...metadata } = injected.metadata;
      const own = isOwned ? metadata : injected.metadata;
      if (!isOwned) return { ...injected, metadata: own };
      const { apiVersion: ___, kind: ____, ...rest } = injected;
      return { ...rest, metadata: own } as Pod;
    }),
  );
}

async function difference(
  inject: () => Promise<readonly Json[]>,
  after: readonly Json[],
  mode: string,
): Promise<string | undefined> {
  const got = (await inject()).map((document) => canonical(document, mode));
  const want = after.map((document) => canonical(document, mode));
  return isDeepStrictEqual(got, want) ? undefined : firstDifference(want, got, "");
}

async function wrongFailure(inject: () => Promise<readonly Json[]>, part: string): Promise<string | undefined> {
  try {
    await inject();
    return `no error, want one with ${part}`;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return text.toLowerCase().includes(part) ? undefined : `want an error with ${part}, got ${text}`;
  }
}

function firstDifference(want: unknown, got: unknown, path: string): string | undefined {
  if (isDeepStrictEqual(want, got)) return undefined;
  const isBranch = (value: unknown): value is Json => typeof value === "object" && value !== null;
  if (isBranch(want) && isBranch(got) && Array.isArray(want) === Array.isArray(got)) {
    for (const name of new Set([...Object.keys(want), ...Object.keys(got)])) {
      const found = firstDifference(want[name], got[name], `${path}/${name}`);
      if (found !== undefined) return found;
    }
  }
  return `${path}: want ${JSON.stringify(want)}, got ${JSON.stringify(got)}`;
}

function parseDocuments(text: string): readonly Json[] {
  return parseAllDocuments(text, { merge: true })
    .map((document) => document.toJS() as Json | null)
    .filter((document) => document !== null);
}

/** `flotilla inject -f FILE`: workloads of files with what the webhook would inject into their pods. */
import {
  checkAnnotations,
  checkPodShape,
  decide,
  InjectionError,
  injectPod,
  injectWorkload,
  type Pod,
  type WorkloadInjection,
} from "@flotilla/injection";
import { type Config, isObject, type JsonObject, proxyConfigLayers } from "@flotilla/model";
import { createValidator, problemText } from "@flotilla/validation";
import { type Document, parseAllDocuments, stringify } from "yaml";
import { filesOf, readManifestText } from "../api/manifests.ts";
import type { inject as definition } from "../definitions/offline.ts";
import { CliError } from "../errors.ts";
import { readInjectionInputs } from "../inject/injection-inputs.ts";
import { firstLine } from "../output.ts";
import type { Invocation, Run } from "../parse/definition.ts";

/** Objects without a pod are written as they stand in their file. */
export const inject: Run<typeof definition> = async ({ options, terminal }) => {
  if (options.file.length === 0) throw new CliError("CLI_USAGE", "inject needs -f FILE, a directory or -");
  const notes: string[] = [];
  const documents = options.file.flatMap(filesOf).flatMap(documentsOf);
  const proxyConfigs = documents.flatMap((one) => proxyConfigOf(one, options.namespace ?? "default"));
  const injection = await createInjection(options, proxyConfigs, (note) => notes.push(note));
  const texts = documents.map((one) => injectDocument(one, injection));
  for (const note of notes) terminal.warn(note);
  terminal.write(texts.join("---\n"));
  return 0;
};

type Options = Invocation<typeof definition>["options"];

async function createInjection(
  options: Options,
  proxyConfigs: readonly Config[],
  note: (text: string) => void,
): Promise<WorkloadInjection> {
  const { config, mesh } = await readInjectionInputs(options);
  const rootNamespace = String(mesh["rootNamespace"] ?? "");
  const environment = {
    revision: options.revision,
    nativeSidecars: !options.withoutNativeSidecars,
    platform: "",
    compliancePolicy: "",
  };
  return (pod, workload) => {
    const namespace = workload.namespace || options.namespace || "default";
    const name = `${workload.kind} ${namespace}/${workload.name}`;
    for (const problem of checkAnnotations(pod.metadata.annotations ?? {}))
      if (problem.severity === "warning") note(`${name}: ${problemText(problem)}`);
    const { inject: isInjected, reason } = decide(pod, namespace, config);
    if (!isInjected) {
      note(`${name}: not injected: ${reason}`);
      return undefined;
    }
    const request = {
      pod,
      namespace,
      namespaceAnnotations: {},
      workload: { ...workload, namespace },
      proxyConfigs: proxyConfigLayers(proxyConfigs, { rootNamespace, namespace, labels: pod.metadata.labels ?? {} }),
      proxyEnv: {},
      mesh,
    };
    return injectPod(request, config, environment);
  };
}

interface PlacedDocument {
  /** For messages: `FILE, document 2`. */
  readonly place: string;
  readonly document: Document.Parsed;
  readonly object: JsonObject;
}

/** @throws CliError CLI_REFUSED naming file and document */
function documentsOf(file: string): readonly PlacedDocument[] {
  const source = file === "-" ? "stdin" : file;
  const documents = parseAllDocuments(readManifestText(file), { merge: true });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document, index) => {
    const place = documents.length === 1 ? source : `${source}, document ${index + 1}`;
    const [error] = document.errors;
    if (error !== undefined) throw new CliError("CLI_REFUSED", `${place}: ${firstLine(error.message)}`);
    const object: unknown = document.toJS();
    if (object === null || object === undefined) return [];
    if (!isObject(object)) throw new CliError("CLI_REFUSED", `${place}: is no object`);
    return [{ place, document, object: object as JsonObject }];
  });
}

/** ProxyConfigs of the files hold for the workloads of the files, as those of a mesh do for its pods. @throws CliError CLI_REFUSED for a wrong one */
function proxyConfigOf({ place, object }: PlacedDocument, usualNamespace: string): readonly Config[] {
  const { apiVersion, kind, metadata, spec } = object;
  if (kind !== "ProxyConfig" || !String(apiVersion).startsWith("networking.istio.io/")) return [];
  const problems = createValidator()(object).filter(({ severity }) => severity === "error");
  if (problems.length > 0)
    throw new CliError("CLI_REFUSED", problems.map((one) => `${place}: ${problemText(one)}`).join("\n"));
  const { name, namespace, creationTimestamp } = isObject(metadata) ? metadata : {};
  const key = { kind, namespace: String(namespace ?? usualNamespace), name: String(name ?? "") };
  const creationTimeMs = Date.parse(String(creationTimestamp)) || 0;
  return [{ key, labels: {}, annotations: {}, creationTimeMs, spec: spec ?? {} }];
}

/** @throws CliError CLI_REFUSED naming file and document */
function injectDocument({ place, document, object }: PlacedDocument, injection: WorkloadInjection): string {
  try {
    const injected = injectWorkload(object, checked(injection));
    if (injected !== object) return stringify(injected, { lineWidth: 0 });
    return `${String(document)
      .replace(/^---\n/, "")
      .trimEnd()}\n`;
  } catch (cause) {
    if (!(cause instanceof InjectionError)) throw cause;
    throw new CliError("CLI_REFUSED", `${place}: ${cause.reason}`, { cause });
  }
}

/** A file may hold anything: the form of a pod is checked first, as the webhook does. */
function checked(injection: WorkloadInjection): WorkloadInjection {
  return (pod, workload) => {
    const form: unknown = pod;
    checkPodShape(form);
    return injection(form as Pod, workload);
  };
}

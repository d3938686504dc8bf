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
import { isObject } from "@flotilla/model";
import { problemText } from "@flotilla/validation";
import { parseAllDocuments, stringify } from "yaml";
import { filesOf, readManifestText } from "../api/manifests.ts";
import type { inject as definition } from "../definitions/offline.ts";
import { CliError } from "../errors.ts";
import { readInjectionInputs } from "../inject/injection-inputs.ts";
import type { Invocation, Run } from "../parse/definition.ts";

/** Objects without a pod are written as they stand in their file. */
export const inject: Run<typeof definition> = async ({ options, terminal }) => {
  if (options.file.length === 0) throw new CliError("CLI_USAGE", "inject needs -f FILE, a directory or -");
  const notes: string[] = [];
  const injection = await createInjection(options, (note) => notes.push(note));
  const texts = options.file.flatMap(filesOf).flatMap((file) => injectFile(file, injection));
  for (const note of notes) terminal.warn(note);
  terminal.write(texts.join("---\n"));
  return 0;
};

type Options = Invocation<typeof definition>["options"];

async function createInjection(options: Options, note: (text: string) => void): Promise<WorkloadInjection> {
  const { config, mesh } = await readInjectionInputs(options);
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
      proxyEnv: {},
      mesh,
    };
    return injectPod(request, config, environment);
  };
}

/** @throws CliError CLI_REFUSED naming file and document */
function injectFile(file: string, injection: WorkloadInjection): readonly string[] {
  const source = file === "-" ? "stdin" : file;
  const documents = parseAllDocuments(readManifestText(file), { merge: true });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document, index) => {
    const place = documents.length === 1 ? source : `${source}, document ${index + 1}`;
    const [error] = document.errors;
    if (error !== undefined) throw new CliError("CLI_REFUSED", `${place}: ${error.message.split("\n", 1)[0]}`);
    const object: unknown = document.toJS();
    if (object === null || object === undefined) return [];
    if (!isObject(object)) throw new CliError("CLI_REFUSED", `${place}: is no object`);
    try {
      const injected = injectWorkload(object, checked(injection));
      return [
        injected === object
          ? `${String(document)
              .replace(/^---\n/, "")
              .trimEnd()}\n`
          : stringify(injected, { lineWidth: 0 }),
      ];
    } catch (cause) {
      if (!(cause instanceof InjectionError)) throw cause;
      throw new CliError("CLI_REFUSED", `${place}: ${cause.reason}`, { cause });
    }
  });
}

/** A file may hold anything: the form of a pod is checked first, as the webhook does. */
function checked(injection: WorkloadInjection): WorkloadInjection {
  return (pod, workload) => {
    const form: unknown = pod;
    checkPodShape(form);
    return injection(form as Pod, workload);
  };
}

/** The transport settings of k8s/base, for processes on this host. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";

export const repository = fileURLToPath(new URL("../../../..", import.meta.url));
const base = join(repository, "k8s/base");

interface Container {
  readonly args: readonly string[];
}
interface Workload {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: { readonly initContainers?: readonly Container[]; readonly containers: readonly Container[] };
    };
  };
}

/** Arguments of the container of a service, or of the certificate container beside a server. */
export function argsOf(file: string, which: "main" | "certificate"): readonly string[] {
  const text = readFileSync(join(base, file), "utf8").replaceAll("$(POD_NAMESPACE)", "istio-system");
  const documents = parseAllDocuments(text).map((one) => one.toJS() as Workload);
  const workload = documents.find(({ kind }) => kind === "Deployment" || kind === "StatefulSet");
  const { containers, initContainers = [] } = workload?.spec.template.spec ?? { containers: [] };
  const container = which === "main" ? containers[0] : initContainers[0];
  if (container === undefined) throw new Error(`k8s/base/${file} has no ${which} container`);
  // The image holds the programs as JavaScript.
  return container.args.map((arg) => arg.replace(/^((?:services|packages)\/.*)\.js$/, "$1.ts"));
}

/** The file that a server is configured with. */
export function configOf(file: string): string {
  return readFileSync(join(base, file), "utf8");
}

/** The settings that all services share. */
export function settings(): Readonly<Record<string, string>> {
  return (parse(configOf("config.yaml")) as { readonly data: Readonly<Record<string, string>> }).data;
}

/** Parts of every workload of k8s/base: an image of this version, probes that wait, a user, a disruption budget, a NetworkPolicy. */
import { parse } from "yaml";
import { type Check, type KubernetesObject, type Read, readObjects } from "./files.ts";

interface Kustomization {
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
}

const directory = "k8s/base";
/** A slow node takes seconds to answer; the API's default is one. */
const leastTimeoutSeconds = 5;
const proxyUser = 1337;

export function checkWorkloads(read: Read, check: Check): void {
  const objects = readObjects(read, directory);
  const workloads = objects.filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet");
  for (const workload of workloads) {
    checkProbes(workload, check);
    const user = workload.spec?.template?.spec.securityContext?.runAsUser;
    check(
      user !== proxyUser,
      `${workload.file}: ${workload.metadata.name} names the proxy's user (IST0144); the image has it`,
    );
    for (const kind of ["PodDisruptionBudget", "NetworkPolicy"] as const)
      check(isSelected(workload, kind, objects), `${workload.file}: no ${kind} selects ${workload.metadata.name}`);
  }
  const { version } = JSON.parse(read("package.json")) as { readonly version: string };
  for (const one of [directory, "k8s/components/console"]) {
    const { images } = parse(read(`${one}/kustomization.yaml`)) as Kustomization;
    const tag = images.find(({ name }) => name === "flotilla")?.newTag;
    check(tag === version, `${one}: the image is flotilla:${tag}, the version of package.json is ${version}`);
  }
}

function checkProbes({ file, spec }: KubernetesObject, check: Check): void {
  for (const container of spec?.template?.spec.containers ?? [])
    for (const kind of ["startupProbe", "readinessProbe", "livenessProbe"] as const) {
      const waits = (container[kind]?.timeoutSeconds ?? 0) >= leastTimeoutSeconds;
      check(waits, `${file}: the ${kind} of ${container.name} does not wait ${leastTimeoutSeconds} seconds`);
    }
}

function isSelected(workload: KubernetesObject, kind: string, objects: readonly KubernetesObject[]): boolean {
  const labels = workload.spec?.template?.metadata.labels ?? {};
  return objects.some((object) => {
    const selector = object.spec?.selector ?? object.spec?.podSelector;
    const wanted = Object.entries(selector?.matchLabels ?? {});
    return object.kind === kind && wanted.length > 0 && wanted.every(([name, value]) => labels[name] === value);
  });
}

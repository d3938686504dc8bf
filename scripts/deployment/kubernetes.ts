/** References of k8s/: files, volumes, accounts, ports, settings that no service has, and the parts that every workload has. */
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { imagePrograms } from "../bundle/image-programs.ts";
import { type Check, type Container, type KubernetesObject, programOf, type Read, readObjects, root } from "./files.ts";
import { checkWorkloads } from "./workloads.ts";

interface Kustomization {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { readonly path?: string }[];
  readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[];
}

/** Written by ca. */
const rootConfigMap = "istio-ca-root-cert";

export function checkKubernetes(read: Read, known: ReadonlySet<string>, check: Check): void {
  for (const directory of ["k8s/base", ...globSync("k8s/{components,overlays}/*", { cwd: root })])
    checkDirectory(read, directory, { known, check });
  checkWorkloads(read, check);
}

function checkDirectory(
  read: Read,
  directory: string,
  { known, check }: { readonly known: ReadonlySet<string>; readonly check: Check },
): void {
  const {
    resources = [],
    components = [],
    patches = [],
    configMapGenerator: generated = [],
  } = parse(read(`${directory}/kustomization.yaml`)) as Kustomization;
  const used = [
    ...resources,
    ...components,
    ...patches.flatMap(({ path = [] }) => path),
    ...generated.flatMap(({ files }) => files),
  ];
  for (const name of used) check(existsSync(join(root, directory, name)), `${directory}: there is no ${name}`);
  for (const name of globSync("*", { cwd: join(root, directory) }))
    check(name === "kustomization.yaml" || used.includes(name), `${directory}: ${name} is not used`);
  const objects = readObjects(read, directory);
  const configMaps = new Set([
    rootConfigMap,
    ...generated.map(({ name }) => name),
    ...objects.filter(({ kind }) => kind === "ConfigMap").map(({ metadata }) => metadata.name),
  ]);
  const accounts = new Set(
    objects.filter(({ kind }) => kind === "ServiceAccount").map(({ metadata }) => metadata.name),
  );
  for (const object of objects) {
    if (object.kind === "ConfigMap" && object.metadata.name === "flotilla")
      for (const setting of Object.keys(object.data ?? {}))
        check(known.has(setting), `${object.file}: ${setting} is read by no service`);
    // A patch is a part of one.
    if (resources.some((name) => object.file === `${directory}/${name}`))
      checkPod(object, { configMaps, accounts }, check);
  }
}

function checkPod(
  { file, metadata, spec }: KubernetesObject,
  { configMaps, accounts }: { readonly configMaps: ReadonlySet<string>; readonly accounts: ReadonlySet<string> },
  check: Check,
): void {
  const pod = spec?.template?.spec;
  if (pod === undefined) return;
  const account = pod.serviceAccountName ?? "default";
  check(accounts.has(account), `${file}: ${metadata.name} runs as ${account}, which is no ServiceAccount`);
  const claims = spec?.volumeClaimTemplates ?? [];
  const volumes = new Set([...(pod.volumes ?? []).map(({ name }) => name), ...claims.map((one) => one.metadata.name)]);
  for (const { configMap } of pod.volumes ?? [])
    if (configMap !== undefined)
      check(configMaps.has(configMap.name), `${file}: there is no ConfigMap ${configMap.name}`);
  for (const container of [...(pod.initContainers ?? []), ...pod.containers])
    checkContainer(file, container, volumes, check);
}

function checkContainer(
  file: string,
  { name, args = [], ports = [], volumeMounts = [], readinessProbe }: Container,
  volumes: ReadonlySet<string>,
  check: Check,
): void {
  for (const program of args.flatMap((arg) => programOf(arg) ?? []))
    check(imagePrograms.includes(program), `${file}: the image has no ${program}`);
  for (const mount of volumeMounts)
    check(volumes.has(mount.name), `${file}: ${name} mounts ${mount.name}, which is no volume`);
  const probed = readinessProbe?.httpGet?.port;
  // The pages of NATS are for the kubelet alone.
  if (probed === undefined || name === "nats") return;
  const isPort = ports.some(({ containerPort }) => containerPort === probed);
  check(isPort, `${file}: the probed port ${probed} is not among the container's ports`);
}

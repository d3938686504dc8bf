/** Pods that a selector matches, and their membership in the mesh. */
import { compareText, type Labels, matchesLabels } from "@flotilla/model";
import { type Field, fieldAt, items, textOf } from "@flotilla/validation/field";
import type { Index, Mesh } from "../analyzer.ts";
import type { MeshObject } from "../mesh-object.ts";

/** Pods by each of their labels, in their namespace and in any. */
export const podsByLabel: Index = {
  name: "pods by label",
  kinds: ["Pod"],
  keysOf: ({ key: { namespace }, labels }) =>
    Object.entries(labels).flatMap(([name, value]) => [
      `${namespace}/${name}=${value}`,
      `${anyNamespace}/${name}=${value}`,
    ]),
};

const anyNamespace = "*";

/** The labels of a field such as `selector.matchLabels`; undefined where it has none. */
export function labelsOf({ value }: Field): Labels | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** `app=web,tier=db`, in the order of names. */
export function selectorText(selector: Labels): string {
  return Object.entries(selector)
    .map(([name, value]) => `${name}=${value}`)
    .sort(compareText)
    .join(",");
}

/** The pods with all labels of a selector, of one namespace or of all; an empty selector means every pod. */
export function selectedPods(mesh: Mesh, selector: Labels, namespace?: string): readonly MeshObject[] {
  const [first, ...others] = Object.entries(selector).sort(byName);
  if (first === undefined) return namespace === undefined ? mesh.all("Pod") : mesh.within("Pod", namespace);
  const candidates = mesh.row(podsByLabel, `${namespace ?? anyNamespace}/${first[0]}=${first[1]}`);
  return others.length === 0 ? candidates : candidates.filter(({ labels }) => matchesLabels(selector, labels));
}

/** Labels of versions and revisions are on most pods, those of applications on few: the longest pair is taken for the rarest. */
function byName(a: readonly [string, string], b: readonly [string, string]): number {
  return b[1].length - a[1].length || compareText(a[0], b[0]);
}

const proxyContainer = "istio-proxy";

/** The containers of a pod's spec, and its init containers: the proxy may be among them as a native sidecar. */
export function containersOf(podSpec: Field): readonly Field[] {
  return [...items(podSpec, "containers"), ...items(podSpec, "initContainers")];
}

/** The image of the sidecar; undefined where there is none. */
export function proxyImageOf(podSpec: Field): string | undefined {
  const proxy = containersOf(podSpec).find((one) => textOf(fieldAt(one, "name")) === proxyContainer);
  const image = proxy === undefined ? "" : textOf(fieldAt(proxy, "image"));
  return image === "" ? undefined : image;
}

export function isProxyContainer(container: Field): boolean {
  return textOf(fieldAt(container, "name")) === proxyContainer;
}

/** Fields of a pod that decide over its sidecar. */
interface PodForm {
  readonly namespace: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly podSpec: Field;
}

/** True where the pod has a sidecar or would get one: its own label, its annotation, then the label of its namespace. */
export function isInjected(mesh: Mesh, { namespace, labels, annotations, podSpec }: PodForm): boolean {
  if (proxyImageOf(podSpec) !== undefined) return true;
  const own = labels["sidecar.istio.io/inject"] ?? annotations["sidecar.istio.io/inject"];
  if (own !== undefined) return own === "true";
  return mesh.find("Namespace", "", namespace)?.labels["istio-injection"] === "enabled";
}

export function isInMesh(mesh: Mesh, pod: MeshObject): boolean {
  const { labels, annotations, spec } = pod;
  return isInjected(mesh, { namespace: pod.key.namespace, labels, annotations, podSpec: spec }) || isAmbientPod(pod);
}

export function isAmbientPod({ annotations }: MeshObject): boolean {
  return annotations["ambient.istio.io/redirection"] === "enabled";
}

/** True where pods of the namespace are in the mesh by their nodes' proxies: a label for sidecars takes precedence. */
export function isAmbientNamespace(namespace: MeshObject | undefined): boolean {
  if (namespace === undefined || namespace.labels["istio-injection"] === "enabled" || namespace.labels["istio.io/rev"])
    return false;
  return namespace.labels["istio.io/dataplane-mode"] === "ambient";
}

/** Objects of the control plane are not users' applications. */
export function isControlPlane({ labels }: MeshObject): boolean {
  return (
    labels["istio"] !== undefined || labels["release"] === "istio" || labels["app.kubernetes.io/part-of"] === "flotilla"
  );
}

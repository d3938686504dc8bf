/** Proxies of another image than injection gives now, and proxies that wait for injection to name one. */
import { compareText, type LabelSelector, matchesLabels, matchesSelector } from "@flotilla/model";
import { type Field, field, fieldAt, items, textOf } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";
import { meshConfig, rootNamespace } from "../shared/settings.ts";
import { containersOf, isProxyContainer, labelsOf } from "../shared/workloads.ts";
import { injectionMapName, injectionMaps } from "./injection.ts";
import { proxyImageOfValues } from "./injection-values.ts";

/** The counterpart of istioctl's injection.ImageAnalyzer. */
export const proxyImages: Analyzer = {
  name: "proxy-images",
  summary: "pods with another proxy image than injection gives",
  messages: ["ProxyImageMismatch"],
  checks: ["Namespace"],
  reads: ["ConfigMap", "MeshConfig", "Pod", "ProxyConfig"],
  indexes: [injectionMaps],
  check: (namespace, mesh) => {
    const { labels, key } = namespace;
    const revision = labels["istio.io/rev"] ?? (labels["istio-injection"] === "enabled" ? "default" : undefined);
    if (revision === undefined) return [];
    const [map] = mesh.row(injectionMaps, injectionMapName(revision));
    if (map === undefined) return [];
    const image = proxyImageOfValues(map);
    const pods = mesh.within("Pod", key.name).filter((pod) => hasOtherImage(pod, image, mesh));
    if (pods.length === 0) return [];
    const names = pods.map((pod) => pod.key.name).sort(compareText);
    return [finding("ProxyImageMismatch", namespace, undefined, { pods: names.join(", ") })];
  },
};

function hasOtherImage(pod: MeshObject, image: string, mesh: Mesh): boolean {
  if (pod.annotations["sidecar.istio.io/proxyImage"]) return false;
  const images = containersOf(pod.spec)
    .filter(isProxyContainer)
    .map((proxy) => textOf(field(proxy, "image")));
  const isOther = (one: string) => one !== image && one !== `${image}-${imageVariant(pod, mesh)}`;
  return images.some(isOther);
}

/** The variant such as `distroless`: of the pod, its ProxyConfig, its namespace's, the root namespace's, and of MeshConfig. */
function imageVariant({ key: { namespace }, labels, annotations }: MeshObject, mesh: Mesh): string {
  const configs = mesh.within("ProxyConfig", namespace);
  const isForAll = ({ spec }: MeshObject) => labelsOf(fieldAt(spec, "selector", "matchLabels")) === undefined;
  const own = configs.filter(
    (one) => !isForAll(one) && matchesLabels(labelsOf(fieldAt(one.spec, "selector", "matchLabels")) ?? {}, labels),
  );
  const variants = [
    annotations["sidecar.istio.io/proxyImageType"] ?? variantOfText(annotations["proxy.istio.io/config"] ?? ""),
    ...own.map(variantOf),
    ...configs.filter(isForAll).map(variantOf),
    ...mesh.within("ProxyConfig", rootNamespace(mesh)).map(variantOf),
    textOf(fieldAt(meshConfig(mesh), "defaultConfig", "image", "imageType")),
  ];
  const chosen = variants.find((one) => one !== "") ?? "";
  return chosen === "default" ? "" : chosen;
}

function variantOf({ spec }: MeshObject): string {
  return textOf(fieldAt(spec, "image", "imageType"));
}

/** The annotation is YAML; the one value that matters here stands in a line or in braces of its own. */
function variantOfText(config: string): string {
  return /["']?imageType["']?\s*:\s*["']?([\w.-]+)/.exec(config)?.[1] ?? "";
}

/** The counterpart of istioctl's injection.ImageAutoAnalyzer. */
export const automaticImages: Analyzer = {
  name: "automatic-images",
  summary: "proxies with image auto that no injection replaces",
  messages: ["ImageAutoWithoutInjectionWarning", "ImageAutoWithoutInjectionError"],
  checks: ["Deployment", "Pod"],
  reads: ["MutatingWebhookConfiguration", "Namespace"],
  check: (object, mesh) => (object.key.kind === "Pod" ? podFindings(object) : deploymentFindings(object, mesh)),
};

function automaticImage(podSpec: Field): Field | undefined {
  return items(podSpec, "containers")
    .filter(isProxyContainer)
    .map((proxy) => field(proxy, "image"))
    .find((image) => textOf(image) === "auto");
}

function podFindings(pod: MeshObject): readonly Finding[] {
  const at = automaticImage(pod.spec);
  if (at === undefined) return [];
  return [finding("ImageAutoWithoutInjectionError", pod, at, { kind: "Pod", name: pod.key.name })];
}

function deploymentFindings(deployment: MeshObject, mesh: Mesh): readonly Finding[] {
  const template = fieldAt(deployment.spec, "template");
  const at = automaticImage(field(template, "spec"));
  if (at === undefined) return [];
  const labels = labelsOf(fieldAt(template, "metadata", "labels")) ?? {};
  const ofNamespace = mesh.find("Namespace", "", deployment.key.namespace || "default")?.labels ?? {};
  const webhooks = mesh.all("MutatingWebhookConfiguration").flatMap(({ whole }) => items(whole, "webhooks"));
  const isSelected = webhooks
    .filter((webhook) => textOf(field(webhook, "name")).endsWith("istio.io"))
    .some(
      (webhook) =>
        selects(field(webhook, "namespaceSelector"), ofNamespace) && selects(field(webhook, "objectSelector"), labels),
    );
  if (isSelected) return [];
  return [
    finding("ImageAutoWithoutInjectionWarning", deployment, at, { kind: "Deployment", name: deployment.key.name }),
  ];
}

/** A selector that is not there matches everything. */
export function selects({ value }: Field, labels: Readonly<Record<string, string>>): boolean {
  return matchesSelector((value ?? {}) as LabelSelector, labels);
}

/** Namespaces and pods that are not injected, or not as they seem. */
import { isObject, ownValue } from "@flotilla/model";
import { field, fieldAt, textOf } from "@flotilla/validation/field";
import type { Analyzer, Index, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import { fullName, isSystemNamespace, type MeshObject } from "../mesh-object.ts";
import { proxyImageOf } from "../shared/workloads.ts";
import { parsedValues } from "./injection-values.ts";

/** ConfigMaps of injection by their name, in whatever namespace the control plane is. */
export const injectionMaps: Index = {
  name: "ConfigMaps of injection",
  kinds: ["ConfigMap"],
  keysOf: ({ key: { name } }) => (name.startsWith("istio-sidecar-injector") ? [name, "*"] : []),
};

export function injectionMapName(revision: string): string {
  return revision === "" || revision === "default" ? "istio-sidecar-injector" : `istio-sidecar-injector-${revision}`;
}

const injectionLabel = "istio-injection";
const revisionLabel = "istio.io/rev";
const modeLabel = "istio.io/dataplane-mode";

/** The counterpart of istioctl's injection.Analyzer. */
export const injectedNamespaces: Analyzer = {
  name: "injected-namespaces",
  summary: "namespaces that are not injected, or whose labels contradict each other",
  messages: ["NamespaceNotInjected", "NamespaceMultipleInjectionLabels", "NamespaceInjectionEnabledByDefault"],
  checks: ["Namespace"],
  reads: ["ConfigMap"],
  indexes: [injectionMaps],
  check: (namespace, mesh) => {
    if (namespace.key.name === "istio-system" || isSystemNamespace(namespace.key.name)) return [];
    return [...contradictions(namespace), ...missingLabels(namespace, mesh)];
  },
};

function contradictions(namespace: MeshObject): readonly Finding[] {
  const { labels } = namespace;
  const injection = labels[injectionLabel];
  const others = injection === undefined || injection === "enabled" ? [revisionLabel, modeLabel] : [];
  const given = [injectionLabel, ...others].filter((name) => ownValue(labels, name) !== undefined);
  if (given.length < 2) return [];
  const values = { labels: given.map((name) => `${name}=${ownValue(labels, name)}`).join(", ") };
  return [
    finding("NamespaceMultipleInjectionLabels", namespace, fieldAt(namespace.whole, "metadata", "labels"), values),
  ];
}

function missingLabels(namespace: MeshObject, mesh: Mesh): readonly Finding[] {
  const { key, labels } = namespace;
  if (labels[modeLabel] === "ambient" || labels[injectionLabel] || labels[revisionLabel] !== undefined) return [];
  return isInjectedByDefault(mesh)
    ? [finding("NamespaceInjectionEnabledByDefault", namespace, undefined, {})]
    : [finding("NamespaceNotInjected", namespace, undefined, { namespace: key.name })];
}

function isInjectedByDefault(mesh: Mesh): boolean {
  const [map] = mesh.row(injectionMaps, injectionMapName(""));
  const webhook = map === undefined ? undefined : parsedValues(map)["sidecarInjectorWebhook"];
  return isObject(webhook) && webhook["enableNamespacesByDefault"] === true;
}

/** The counterpart of istioctl's injection.Analyzer. */
export const podsWithoutProxy: Analyzer = {
  name: "pods-without-proxy",
  summary: "pods of injected namespaces that have no sidecar",
  messages: ["PodMissingProxy"],
  checks: ["Pod"],
  reads: ["Namespace"],
  check: (pod, mesh) => {
    const { key, labels, annotations, spec } = pod;
    const namespace = mesh.find("Namespace", "", key.namespace);
    if (namespace?.labels[injectionLabel] !== "enabled" || namespace.labels[modeLabel] === "ambient") return [];
    const own = labels["sidecar.istio.io/inject"] ?? annotations["sidecar.istio.io/inject"] ?? "";
    const isLeftOut = own.toLowerCase() === "false" || field(spec, "hostNetwork").value === true;
    if (isLeftOut || proxyImageOf(spec) !== undefined || isFinished(pod)) return [];
    return [finding("PodMissingProxy", pod, undefined, { pod: fullName(key) })];
  },
};

/** Pods of Jobs stay after their end. */
function isFinished({ whole }: MeshObject): boolean {
  return ["Failed", "Succeeded"].includes(textOf(fieldAt(whole, "status", "phase")));
}

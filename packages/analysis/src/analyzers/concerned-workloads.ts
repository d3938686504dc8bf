/** Objects that concern no proxy: selectors that no workload has, and targets that are not there. */
import { matchesLabels, nearestName } from "@flotilla/model";
import { type Field, field, fieldAt, items, textOf } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import { fullName, type MeshObject } from "../mesh-object.ts";
import { suggestion } from "../shared/hosts.ts";
import { rootNamespace } from "../shared/settings.ts";
import { labelsOf, podsByLabel, selectedPods, selectorText } from "../shared/workloads.ts";

/** Kinds of which istioctl checks no selector. */
const selectingKinds = [
  "EnvoyFilter",
  "PeerAuthentication",
  "ProxyConfig",
  "RequestAuthentication",
  "TrafficExtension",
  "WasmPlugin",
];

/** By the kind that a target names. */
const targets: ReadonlyMap<string, string> = new Map([
  ["Gateway", "KubernetesGateway"],
  ["Service", "Service"],
  ["ServiceEntry", "ServiceEntry"],
]);

/** istioctl has such checks for Sidecar, Telemetry and AuthorizationPolicy. */
export const concernedWorkloads: Analyzer = {
  name: "concerned-workloads",
  summary: "objects whose selector no workload has, and targets that are not there",
  messages: ["NoWorkloadConcerned", "ReferencedResourceNotFound"],
  checks: [...selectingKinds, "AuthorizationPolicy", "Telemetry"],
  reads: ["KubernetesGateway", "MeshConfig", "Pod", "Service", "ServiceEntry", "WorkloadEntry"],
  indexes: [podsByLabel],
  check: (object, mesh) => [
    ...(selectingKinds.includes(object.key.kind) ? selectorFindings(object, mesh) : []),
    ...targetFindings(object, mesh),
  ],
};

function selectorFindings(object: MeshObject, mesh: Mesh): readonly Finding[] {
  const { key, spec } = object;
  const at =
    key.kind === "EnvoyFilter" ? fieldAt(spec, "workloadSelector", "labels") : fieldAt(spec, "selector", "matchLabels");
  const labels = labelsOf(at) ?? {};
  if (Object.keys(labels).length === 0) return [];
  const namespace = key.namespace === rootNamespace(mesh) ? undefined : key.namespace;
  if (selectedPods(mesh, labels, namespace).length > 0) return [];
  const entries = namespace === undefined ? mesh.all("WorkloadEntry") : mesh.within("WorkloadEntry", namespace);
  if (entries.some((entry) => matchesLabels(labels, labelsOf(field(entry.spec, "labels")) ?? {}))) return [];
  return [finding("NoWorkloadConcerned", object, at, { labels: selectorText(labels) })];
}

function targetFindings(object: MeshObject, mesh: Mesh): readonly Finding[] {
  const given = [field(object.spec, "targetRef"), ...items(object.spec, "targetRefs")];
  return given.flatMap((target: Field) => {
    const kind = targets.get(textOf(field(target, "kind")));
    const key = {
      namespace: textOf(field(target, "namespace")) || object.key.namespace,
      name: textOf(field(target, "name")),
    };
    if (kind === undefined || mesh.find(kind, key.namespace, key.name) !== undefined) return [];
    const near = nearestName(
      key.name,
      mesh.within(kind, key.namespace).map((one) => one.key.name),
    );
    const values = { what: textOf(field(target, "kind")), name: fullName(key), suggestion: suggestion(near) };
    return [finding("ReferencedResourceNotFound", object, target, values)];
  });
}

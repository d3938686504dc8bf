/** AuthorizationPolicies that protect no workload, or name namespaces that do not exist. */
import { nearestName } from "@flotilla/model";
import { fieldAt, isSet, items, texts } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";
import { suggestion } from "../shared/hosts.ts";
import { rootNamespace } from "../shared/settings.ts";
import { isInMesh, labelsOf, podsByLabel, selectedPods, selectorText } from "../shared/workloads.ts";

/** The counterpart of istioctl's auth.AuthorizationPoliciesAnalyzer. */
export const authorizationPolicies: Analyzer = {
  name: "authorization-policies",
  summary: "policies that protect no workload, or name namespaces that do not exist",
  messages: ["NoMatchingWorkloads", "ReferencedResourceNotFound"],
  checks: ["AuthorizationPolicy"],
  reads: ["MeshConfig", "Namespace", "Pod"],
  indexes: [podsByLabel],
  check: (policy, mesh) => [...workloadFindings(policy, mesh), ...namespaceFindings(policy, mesh)],
};

function workloadFindings(policy: MeshObject, mesh: Mesh): readonly Finding[] {
  const { key, spec } = policy;
  const selector = fieldAt(spec, "selector");
  const isForMesh = key.namespace === rootNamespace(mesh);
  if (isForMesh && !isSet(selector)) return [];
  const labels = labelsOf(fieldAt(selector, "matchLabels")) ?? {};
  const pods = selectedPods(mesh, labels, isForMesh ? undefined : key.namespace);
  if (pods.some((pod) => isInMesh(mesh, pod))) return [];
  return [
    finding("NoMatchingWorkloads", policy, isSet(selector) ? selector : undefined, { labels: selectorText(labels) }),
  ];
}

function namespaceFindings(policy: MeshObject, mesh: Mesh): readonly Finding[] {
  const sources = items(policy.spec, "rules")
    .flatMap((rule) => items(rule, "from"))
    .map((from) => fieldAt(from, "source"));
  const named = sources.flatMap((source) => [...texts(source, "namespaces"), ...texts(source, "notNamespaces")]);
  const known = named.length === 0 ? [] : mesh.all("Namespace").map(({ key }) => key.name);
  return named
    .filter(({ value }) => !known.some((name) => matches(value, name)) && value !== "*")
    .map((at) =>
      finding("ReferencedResourceNotFound", policy, at, {
        what: "namespace",
        name: at.value,
        suggestion: suggestion(nearestName(at.value, known)),
      }),
    );
}

/** `*` at the beginning or the end stands for any text. */
function matches(pattern: string, namespace: string): boolean {
  if (pattern.startsWith("*")) return namespace.endsWith(pattern.slice(1));
  if (pattern.endsWith("*")) return namespace.startsWith(pattern.slice(0, -1));
  return pattern.toLowerCase() === namespace.toLowerCase();
}

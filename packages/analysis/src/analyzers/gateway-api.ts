/** Policies that try to reach a Gateway of the Gateway API by labels, and definitions of the Gateway API that are too old. */
import { matchesLabels } from "@flotilla/model";
import { type Field, field, fieldAt, isSet, items } from "@flotilla/validation/field";
import type { Analyzer, Index } from "../analyzer.ts";
import { finding } from "../finding.ts";
import { labelsOf } from "../shared/workloads.ts";

const gatewayLabel = "gateway.networking.k8s.io/gateway-name";

/** Pods that serve a Gateway of the Gateway API, by namespace. */
const gatewayPods: Index = {
  name: "pods of gateways",
  kinds: ["Pod"],
  keysOf: ({ key, labels }) => (labels[gatewayLabel] === undefined ? [] : [key.namespace]),
};

/** The counterpart of istioctl's k8sgateway.SelectorAnalyzer. */
export const gatewaySelectors: Analyzer = {
  name: "gateway-selectors",
  summary: "selectors of policies that mean a Gateway of the Gateway API",
  messages: ["IneffectiveSelector"],
  checks: ["AuthorizationPolicy", "RequestAuthentication", "Telemetry", "WasmPlugin"],
  reads: ["Pod"],
  indexes: [gatewayPods],
  check: (policy, mesh) => {
    const selector = field(policy.spec, "selector");
    const labels = labelsOf(field(selector, "matchLabels"));
    if (hasTarget(policy.spec) || labels === undefined) return [];
    return mesh
      .row(gatewayPods, policy.key.namespace)
      .filter((pod) => matchesLabels(labels, pod.labels))
      .map((pod) => finding("IneffectiveSelector", policy, selector, { gateway: pod.labels[gatewayLabel] ?? "" }));
  },
};

function hasTarget(spec: Field): boolean {
  return isSet(field(spec, "targetRef")) || items(spec, "targetRefs").length > 0;
}

/** The first release of the Gateway API in which a kind has the version that is read here. */
const minimumVersions: ReadonlyMap<string, string> = new Map([
  ["backendtlspolicies.gateway.networking.k8s.io", "1.4.0"],
  ["grpcroutes.gateway.networking.k8s.io", "1.1.0"],
  ["tcproutes.gateway.networking.k8s.io", "1.6.0"],
  ["tlsroutes.gateway.networking.k8s.io", "1.5.0"],
]);

/** The counterpart of istioctl's k8sgateway.CRDVersionAnalyzer. */
export const gatewayApiVersions: Analyzer = {
  name: "gateway-api-versions",
  summary: "definitions of the Gateway API that are too old",
  messages: ["GatewayApiVersionBelowMinimum"],
  checks: ["CustomResourceDefinition"],
  reads: [],
  check: (definition) => {
    const minimum = minimumVersions.get(definition.key.name);
    const version = definition.annotations["gateway.networking.k8s.io/bundle-version"] ?? "";
    if (minimum === undefined || !isBelow(versionParts(version), versionParts(minimum))) return [];
    const at = fieldAt(definition.whole, "metadata", "annotations");
    return [
      finding("GatewayApiVersionBelowMinimum", definition, at, { definition: definition.key.name, version, minimum }),
    ];
  },
};

/** Candidates of a release count as the release; a text that is no version has no parts, and is below none. */
function versionParts(version: string): readonly number[] {
  const [, ...parts] = /^v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(version) ?? [];
  return parts.map(Number);
}

function isBelow(given: readonly number[], least: readonly number[]): boolean {
  const at = given.findIndex((part, index) => part !== least[index]);
  return (given[at] ?? 0) < (least[at] ?? 0);
}

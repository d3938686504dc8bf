/** DestinationRules for hosts that no service has, subsets that no pod is in, and TLS that verifies no server. */
import { type Labels, matchesLabels, ownValue, parseLocality } from "@flotilla/model";
import { type Field, field, fieldAt, isSet, items, numberOf, textOf, texts } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";
import { hostSuggestion, serviceIndexes, serviceOf } from "../shared/hosts.ts";
import { labelsOf, podsByLabel, selectedPods } from "../shared/workloads.ts";

/** The counterpart of istioctl's destinationrule.SubsetSelectPodAnalyzer. */
export const destinationRuleHosts: Analyzer = {
  name: "destination-rule-hosts",
  summary: "DestinationRules for hosts that no service has, and subsets without pods",
  messages: ["UnknownDestinationRuleHost", "SubsetWithoutPods"],
  checks: ["DestinationRule"],
  reads: ["Node", "Pod", "Service", "ServiceEntry", "WorkloadEntry"],
  indexes: [...serviceIndexes, podsByLabel],
  check: (rule, mesh) => {
    const at = field(rule.spec, "host");
    // Validation reports a host that is not there.
    if (textOf(at) === "") return [];
    const exportTo = texts(rule.spec, "exportTo").map(({ value }) => value);
    const question = { host: textOf(at), namespace: rule.key.namespace, exportTo };
    const service = serviceOf(mesh, question);
    if (service !== undefined) return subsetFindings(rule, service, mesh);
    const suggestion = hostSuggestion(mesh, question);
    return [finding("UnknownDestinationRuleHost", rule, at, { host: question.host, suggestion })];
  },
};

/** Labels that endpoints have beside those of their pod, from the node that it runs on. */
const hostnameLabel = "kubernetes.io/hostname";
const topologyLabels = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone", "topology.istio.io/subzone"];
const placeLabels: ReadonlySet<string> = new Set([hostnameLabel, ...topologyLabels]);

function subsetFindings(rule: MeshObject, service: MeshObject, mesh: Mesh): readonly Finding[] {
  const selector = labelsOf(fieldAt(service.spec, "workloadSelector", "labels"));
  const hasEndpoints = (labels: Labels): boolean => {
    const wanted = { ...selector, ...labels };
    return hasPods(wanted, mesh) || hasWorkloadEntries(wanted, service, mesh) || isOfInlineEndpoint(labels, service);
  };
  return items(rule.spec, "subsets")
    .filter((subset) => !hasEndpoints(labelsOf(field(subset, "labels")) ?? {}))
    .map((subset) => finding("SubsetWithoutPods", rule, subset, { subset: textOf(field(subset, "name")) }));
}

/** Of the namespace of the service, where alone it selects some. */
function hasWorkloadEntries(wanted: Labels, { key }: MeshObject, mesh: Mesh): boolean {
  return mesh
    .within("WorkloadEntry", key.namespace)
    .some(({ labels, spec }) => matchesLabels(wanted, { ...endpointLabels(spec), ...labels }));
}

/** Endpoints that a ServiceEntry lists itself; with none and no selector, its hosts are endpoints without labels. */
function isOfInlineEndpoint(wanted: Labels, { key, spec }: MeshObject): boolean {
  if (key.kind !== "ServiceEntry" || isSet(field(spec, "workloadSelector"))) return false;
  const endpoints = items(spec, "endpoints");
  if (endpoints.length === 0) return Object.keys(wanted).length === 0;
  return endpoints.some((endpoint) => matchesLabels(wanted, endpointLabels(endpoint)));
}

/** Of a WorkloadEntry's form: its own, and those of its place. */
function endpointLabels(endpoint: Field): Labels {
  const { region, zone, subzone } = parseLocality(textOf(field(endpoint, "locality")));
  const place = [region, zone, subzone].map((value, index) => [topologyLabels[index] ?? "", value] as const);
  const known = [...place, ["topology.istio.io/network", textOf(field(endpoint, "network"))] as const];
  return {
    ...labelsOf(field(endpoint, "labels")),
    ...Object.fromEntries(known.filter(([, value]) => value !== "")),
  };
}

/** Pods have the labels of their own and of the place they run at. */
function hasPods(wanted: Labels, mesh: Mesh): boolean {
  const split = Object.groupBy(Object.entries(wanted), ([name]) => (placeLabels.has(name) ? "place" : "own"));
  const place = Object.fromEntries(split.place ?? []);
  const pods = selectedPods(mesh, Object.fromEntries(split.own ?? []));
  return split.place === undefined
    ? pods.length > 0
    : pods.some((pod) => matchesLabels(place, labelsOfPlace(pod, mesh)));
}

/** A zone counts within a region only, and a part of a zone within a zone. */
function labelsOfPlace({ labels, spec }: MeshObject, mesh: Mesh): Labels {
  const name = textOf(field(spec, "nodeName"));
  if (name === "") return labels;
  const node = mesh.find("Node", "", name)?.labels ?? {};
  const missing = topologyLabels.findIndex((label) => !ownValue(node, label));
  const known = missing === -1 ? topologyLabels : topologyLabels.slice(0, missing);
  return {
    ...labels,
    ...Object.fromEntries(known.map((label) => [label, ownValue(node, label) ?? ""])),
    [hostnameLabel]: name,
  };
}

/** The counterpart of istioctl's destinationrule.CaCertificateAnalyzer. */
export const serverVerification: Analyzer = {
  name: "server-verification",
  summary: "TLS to servers whose certificate is not verified",
  messages: ["NoServerVerification", "NoServerVerificationAtPort"],
  checks: ["DestinationRule"],
  reads: [],
  check: (rule) => {
    const policy = field(rule.spec, "trafficPolicy");
    const host = textOf(field(rule.spec, "host"));
    const whole = unverified(rule, policy).map(({ at, mode }) =>
      finding("NoServerVerification", rule, at, { mode, host }),
    );
    const ports = items(policy, "portLevelSettings").flatMap((settings) => {
      const port = numberOf(fieldAt(settings, "port", "number"));
      return unverified(rule, settings).map(({ at, mode }) =>
        finding("NoServerVerificationAtPort", rule, at, { mode, host, port }),
      );
    });
    return [...whole, ...ports];
  },
};

/** TLS of a user's own, by no CA: a Secret may have one, which is read for workloads that a selector names. */
function unverified({ spec }: MeshObject, policy: Field): readonly { readonly at: Field; readonly mode: string }[] {
  const tls = field(policy, "tls");
  const mode = textOf(field(tls, "mode"));
  const hasSecret = textOf(field(tls, "credentialName")) !== "" && isSet(field(spec, "workloadSelector"));
  const isVerified = textOf(field(tls, "caCertificates")) !== "" || hasSecret;
  return (mode === "SIMPLE" || mode === "MUTUAL") && !isVerified ? [{ at: tls, mode }] : [];
}

/** Gateways without workloads, with ports that no Service leads to, or with credentials that cannot be served. */
import { type Labels, matchesLabels, ownValue } from "@flotilla/model";
import { type Field, field, fieldAt, items, numberOf, textOf } from "@flotilla/validation/field";
import type { AnalysisTools, Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import { fullName, type MeshObject, nameIn } from "../mesh-object.ts";
import { labelsOf, podsByLabel, selectedPods, selectorText } from "../shared/workloads.ts";

/** The counterpart of istioctl's gateway.IngressGatewayPortAnalyzer. */
export const gatewayPorts: Analyzer = {
  name: "gateway-ports",
  summary: "Gateways without workloads, and ports that no Service leads to",
  messages: ["ReferencedResourceNotFound", "GatewayPortNotOnService"],
  checks: ["Gateway"],
  reads: ["Pod", "Service"],
  indexes: [podsByLabel],
  check: (gateway, mesh) => {
    const selector = selectorOf(gateway);
    const pods = selectedPods(mesh, selector);
    if (pods.length === 0) return [withoutWorkloads(gateway)];
    const reached = reachedPorts(mesh, pods);
    return items(gateway.spec, "servers")
      .map((server) => fieldAt(server, "port", "number"))
      .filter((port) => port.value !== undefined && !reached.has(numberOf(port)))
      .map((at) =>
        finding("GatewayPortNotOnService", gateway, at, { selector: selectorText(selector), port: numberOf(at) }),
      );
  },
};

function selectorOf({ spec }: MeshObject): Labels {
  return labelsOf(field(spec, "selector")) ?? {};
}

function withoutWorkloads(gateway: MeshObject): Finding {
  const at = field(gateway.spec, "selector");
  return finding("ReferencedResourceNotFound", gateway, at, {
    what: "a workload with the labels",
    name: selectorText(selectorOf(gateway)),
    suggestion: "",
  });
}

/** Ports of Services that select one of the pods, and the ports of the pods that they lead to. */
function reachedPorts(mesh: Mesh, pods: readonly MeshObject[]): ReadonlySet<number> {
  const reached = new Set<number>();
  for (const [namespace, members] of Map.groupBy(pods, ({ key }) => key.namespace))
    for (const service of mesh.within("Service", namespace)) {
      const selector = labelsOf(field(service.spec, "selector")) ?? {};
      if (members.some(({ labels }) => matchesLabels(selector, labels)))
        for (const port of items(service.spec, "ports")) addPort(port, reached);
    }
  return reached;
}

/** The port behind a target by name is defined by the pod only: the Service's own counts then. */
function addPort(port: Field, reached: Set<number>): void {
  const protocol = textOf(field(port, "protocol"));
  if (protocol !== "" && protocol !== "TCP") return;
  const target = numberOf(field(port, "targetPort"));
  reached.add(numberOf(field(port, "port")));
  if (target !== 0) reached.add(target);
}

/** The counterpart of istioctl's gateway.SecretAnalyzer. */
export const gatewayCredentials: Analyzer = {
  name: "gateway-credentials",
  summary: "Gateways whose Secrets are missing or cannot be served",
  messages: ["ReferencedResourceNotFound", "InvalidGatewayCredential"],
  checks: ["Gateway"],
  reads: ["Pod", "Secret"],
  indexes: [podsByLabel],
  check: (gateway, mesh, tools) => {
    const [pod] = selectedPods(mesh, selectorOf(gateway));
    if (pod === undefined) return [withoutWorkloads(gateway)];
    return items(gateway.spec, "servers")
      .map((server) => fieldAt(server, "tls", "credentialName"))
      .filter((name) => textOf(name) !== "")
      .flatMap((at) => credentialFindings({ gateway, at, namespace: pod.key.namespace }, mesh, tools));
  },
};

interface CredentialPlace {
  readonly gateway: MeshObject;
  readonly at: Field;
  /** Of the gateway's workloads, which read the Secret. */
  readonly namespace: string;
}

function credentialFindings(
  { gateway, at, namespace }: CredentialPlace,
  mesh: Mesh,
  tools: AnalysisTools,
): readonly Finding[] {
  const key = nameIn(namespace, textOf(at));
  const secret = mesh.find("Secret", key.namespace, key.name);
  if (secret === undefined)
    return [
      finding("ReferencedResourceNotFound", gateway, at, { what: "Secret", name: fullName(key), suggestion: "" }),
    ];
  const reason = credentialReason(secret, tools);
  return reason === undefined
    ? []
    : [finding("InvalidGatewayCredential", gateway, at, { secret: fullName(key), reason })];
}

/** Why a Secret cannot be served. */
function credentialReason({ whole }: MeshObject, tools: AnalysisTools): string | undefined {
  const data = textsOfSecret(whole);
  const pair = [
    ["cert", "key"],
    ["tls.crt", "tls.key"],
  ].find((names) => names.every((name) => (ownValue(data, name) ?? "") !== ""));
  if (pair === undefined) return "it has neither tls.crt with tls.key nor cert with key";
  try {
    const { notBeforeMs, notAfterMs } = tools.validityOf(ownValue(data, pair[0] ?? "") ?? "");
    const now = tools.nowMs();
    return now > notAfterMs || now < notBeforeMs ? "its certificate has expired or is not valid yet" : undefined;
  } catch (error) {
    return `its certificate cannot be read (${error instanceof Error ? error.message : String(error)})`;
  }
}

/** `data` is in base64, `stringData` is not. */
function textsOfSecret(whole: Field): Readonly<Record<string, string>> {
  const encoded = Object.entries(labelsOf(field(whole, "data")) ?? {});
  return {
    ...Object.fromEntries(encoded.map(([name, value]) => [name, fromBase64(value)])),
    ...labelsOf(field(whole, "stringData")),
  };
}

/** "" for what is no base64, as an empty value counts as missing. */
function fromBase64(value: string): string {
  try {
    return atob(value.replace(/\s/g, ""));
  } catch {
    return "";
  }
}

/** Gateways of the same workloads that have the same hosts, or the same certificate. */
import { compareText, type Labels, matchesLabels } from "@flotilla/model";
import { type Field, field, fieldAt, isSet, items, numberOf, textOf, texts } from "@flotilla/validation/field";
import type { Analyzer, Index, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import { fullName, type MeshObject } from "../mesh-object.ts";
import { labelsOf, podsByLabel, selectedPods, selectorText } from "../shared/workloads.ts";

/** Gateways by the ports, addresses and hosts of their servers. */
const gatewaysByHost: Index = {
  name: "gateways by host",
  kinds: ["Gateway"],
  keysOf: ({ spec }) => [...new Set(items(spec, "servers").flatMap(hostKeys))],
};

function hostKeys(server: Field): readonly string[] {
  const place = `${numberOf(fieldAt(server, "port", "number"))} ${textOf(field(server, "bind"))}`;
  return texts(server, "hosts").map(({ value }) => `${place} ${value}`);
}

/** The counterpart of istioctl's gateway.ConflictingGatewayAnalyzer. */
export const gatewayConflicts: Analyzer = {
  name: "gateway-conflicts",
  summary: "Gateways of the same workloads with the same port and host",
  messages: ["ConflictingGateways"],
  checks: ["Gateway"],
  reads: ["Pod"],
  indexes: [gatewaysByHost, podsByLabel],
  check: (gateway, mesh) => items(gateway.spec, "servers").flatMap((server) => serverFindings(gateway, server, mesh)),
};

function serverFindings(gateway: MeshObject, server: Field, mesh: Mesh): readonly Finding[] {
  const same = new Set(hostKeys(server).flatMap((key) => mesh.row(gatewaysByHost, key)));
  const others = [...same].filter((other) => other.key !== gateway.key && shareWorkloads(mesh, gateway, other));
  if (others.length === 0) return [];
  return [
    finding("ConflictingGateways", gateway, server, {
      gateways: namesOf(others),
      selector: selectorText(selectorOf(gateway)),
      port: numberOf(fieldAt(server, "port", "number")),
      hosts: texts(server, "hosts")
        .map(({ value }) => value)
        .join(", "),
    }),
  ];
}

/** Equal selectors always do; those of which one has all labels of the other do where a pod has both. */
function shareWorkloads(mesh: Mesh, one: MeshObject, other: MeshObject): boolean {
  const [a, b] = [selectorOf(one), selectorOf(other)];
  if (selectorText(a) === selectorText(b)) return true;
  return (matchesLabels(a, b) || matchesLabels(b, a)) && selectedPods(mesh, { ...a, ...b }).length > 0;
}

function selectorOf({ spec }: MeshObject): Labels {
  return labelsOf(field(spec, "selector")) ?? {};
}

function namesOf(gateways: readonly MeshObject[]): string {
  return gateways
    .map(({ key }) => fullName(key))
    .sort(compareText)
    .join(", ");
}

/** Gateways by what identifies the certificates of their servers. */
const gatewaysByCertificate: Index = {
  name: "gateways by certificate",
  kinds: ["Gateway"],
  keysOf: ({ spec }) => [...new Set(items(spec, "servers").flatMap(certificateKeys))],
};

function certificateKeys(server: Field): readonly string[] {
  const tls = field(server, "tls");
  if (!isSet(tls)) return [];
  const [credential, certificate, key] = ["credentialName", "serverCertificate", "privateKey"].map((name) =>
    textOf(field(tls, name)),
  );
  if (credential) return [`secret ${credential}`];
  return certificate && key ? [`file ${certificate} ${key}`] : [];
}

/** The counterpart of istioctl's gateway.CertificateAnalyzer. */
export const gatewayCertificates: Analyzer = {
  name: "gateway-certificates",
  summary: "Gateways that serve the same certificate",
  messages: ["GatewayDuplicateCertificate"],
  checks: ["Gateway"],
  reads: [],
  indexes: [gatewaysByCertificate],
  check: (gateway, mesh) => {
    const same = new Set(
      items(gateway.spec, "servers")
        .flatMap(certificateKeys)
        .flatMap((key) => mesh.row(gatewaysByCertificate, key)),
    );
    const selector = selectorOf(gateway);
    return [...same]
      .filter((other) => other.key !== gateway.key && matchesLabels(selector, selectorOf(other)))
      .map((other) =>
        finding("GatewayDuplicateCertificate", gateway, undefined, {
          gateways: `${fullName(gateway.key)}, ${fullName(other.key)}`,
        }),
      );
  },
};

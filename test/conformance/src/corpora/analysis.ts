/**
 * Corpus analysis: objects in, codes and the objects they are about out. Each case runs one of Istio's analyzers, whose counterparts here
 * stand in a table.
 */
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type AnalysisTools,
  assumedObjects,
  createAnalyzers,
  type Finding,
  MeshAnalysis,
  type MeshObject,
  meshObject,
  meshSettings,
} from "@flotilla/analysis";
import type { JsonObject } from "@flotilla/model";
import { parse, parseAllDocuments } from "yaml";
import type { CaseResult } from "./corpus.ts";

interface Case {
  readonly name: string;
  readonly analyzer: string;
  readonly inputs: readonly string[];
  readonly settings: {
    readonly meshConfigFile: string | null;
    readonly meshNetworksFile: string | null;
    readonly systemNamespace: string;
  };
  readonly expected: readonly { readonly code: string; readonly origin: string }[];
}

/** Istio's names of analyzers, each with ours. */
const counterparts: Readonly<Record<string, readonly string[]>> = {
  "annotations.AlphaAnalyzer": ["alpha-annotations"],
  "annotations.K8sAnalyzer": ["annotations"],
  "applicationUID.Analyzer": ["application-user"],
  "auth.AuthorizationPoliciesAnalyzer": ["authorization-policies"],
  "authn.BlockedCIDRsAnalyzer": ["issuer-addresses"],
  "conditions.ConditionAnalyzer": ["conditions"],
  "deployment.MultiServiceAnalyzer": ["deployment-services"],
  "deprecation.DeprecationAnalyzer": ["deprecated"],
  "destinationrule.CaCertificateAnalyzer": ["server-verification"],
  "destinationrule.SubsetSelectPodAnalyzer": ["destination-rule-hosts"],
  "envoyfilter.EnvoyPatchAnalyzer": ["envoy-filters"],
  "externalcontrolplane.ExternalControlPlaneAnalyzer": ["external-control-plane"],
  "gateway.CertificateAnalyzer": ["gateway-certificates"],
  "gateway.ConflictingGatewayAnalyzer": ["gateway-conflicts"],
  "gateway.IngressGatewayPortAnalyzer": ["gateway-ports"],
  "gateway.SecretAnalyzer": ["gateway-credentials"],
  "injection.Analyzer": ["injected-namespaces", "pods-without-proxy"],
  "injection.ImageAnalyzer": ["proxy-images"],
  "injection.ImageAutoAnalyzer": ["automatic-images"],
  "k8sgateway.CRDVersionAnalyzer": ["gateway-api-versions"],
  "k8sgateway.SelectorAnalyzer": ["gateway-selectors"],
  "meshnetworks.MeshNetworksAnalyzer": ["network-registries"],
  "service.PortNameAnalyzer": ["port-names"],
  "serviceentry.Analyzer": ["service-entry-addresses"],
  "serviceentry.ConflictingServiceEntryProtocolAnalyzer": ["service-entry-protocols"],
  "sidecar.SelectorAnalyzer": ["sidecar-selectors"],
  "telemetry.DefaultSelectorAnalyzer": ["namespace-telemetries"],
  "telemetry.LightstepAnalyzer": ["deprecated"],
  "telemetry.ProviderAnalyzer": ["telemetry-providers"],
  "telemetry.SelectorAnalyzer": ["telemetry-selectors"],
  "virtualservice.ConflictingMeshGatewayHostsAnalyzer": ["mesh-host-conflicts"],
  "virtualservice.DestinationHostAnalyzer": ["route-destinations", "gateway-subsets"],
  "virtualservice.DestinationRuleAnalyzer": ["route-subsets"],
  "virtualservice.GatewayAnalyzer": ["route-gateways"],
  "virtualservice.JWTClaimRouteAnalyzer": ["claim-routes"],
  "webhook.Analyzer": ["injection-webhooks"],
};

const tools: AnalysisTools = {
  nowMs: () => Date.now(),
  validityOf: (pem) => {
    const { validFromDate, validToDate } = new X509Certificate(pem);
    return { notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() };
  },
};

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  return Promise.all(cases.map((one) => runCase(directory, one)));
}

async function runCase(directory: string, { name, analyzer, inputs, settings, expected }: Case): Promise<CaseResult> {
  const read = (file: string) => readFile(join(directory, file), "utf8");
  const names = analyzer.startsWith("schema.ValidationAnalyzer.") ? ["validity"] : (counterparts[analyzer] ?? []);
  if (names.length === 0) return { name, passed: false, detail: `${analyzer} has no counterpart here` };
  const analysis = new MeshAnalysis(
    createAnalyzers().filter((one) => names.includes(one.name)),
    tools,
  );
  const objects = (await Promise.all(inputs.map(read))).flatMap(objectsOf);
  const { meshConfigFile, meshNetworksFile, systemNamespace } = settings;
  const documents = [
    ["MeshConfig", meshConfigFile],
    ["MeshNetworks", meshNetworksFile],
  ] as const;
  for (const [kind, file] of documents)
    if (file !== null)
      objects.push(meshSettings({ kind, document: parse(await read(file)) as JsonObject }, systemNamespace));
  analysis.apply([...assumedObjects(systemNamespace), ...objects].map((object) => ({ object })));
  const want = expected.map(({ code, origin }) => `${code} ${origin}`).sort();
  const got = analysis.findings().map(titleOf).sort();
  const passed = want.join("\n") === got.join("\n");
  return passed ? { name, passed } : { name, passed, detail: difference(want, got) };
}

/** Files may have objects of unknown kinds beside others. */
function objectsOf(text: string): MeshObject[] {
  return parseAllDocuments(text).flatMap((document) => meshObject(document.toJS()) ?? []);
}

/** Istio calls the Gateway of the Gateway API by its kind. */
function titleOf({ code, object: { kind, namespace, name } }: Finding): string {
  return `${code} ${kind.replace("KubernetesGateway", "Gateway")} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

function difference(want: readonly string[], got: readonly string[]): string {
  const missing = want.filter((one) => !got.includes(one)).map((one) => `missing ${one}`);
  const more = got.filter((one) => !want.includes(one)).map((one) => `more ${one}`);
  return [...missing, ...more].join(", ") || `wants ${want.join(", ")}, got ${got.join(", ")}`;
}

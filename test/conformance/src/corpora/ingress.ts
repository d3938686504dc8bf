/** Corpus ingress: Ingresses, held against the Gateways and VirtualServices that Istio makes of them, and single functions. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type IngressSettings,
  type IngressSpec,
  ingressGateway,
  ingressVirtualServices,
  isServedIngress,
  pathLength,
} from "@flotilla/gateway-api";
import { type Config, equalJson, type KubeObject, objectKey } from "@flotilla/model";
import { fromJson, type JsonValue } from "@flotilla/proto";
import { HTTPMatchRequestSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { CaseResult } from "./corpus.ts";
import { configEntry, differencesOf, documents, ownEntry } from "./golden-config.ts";

interface Case {
  readonly name: string;
  readonly function?: string;
  readonly args?: readonly JsonValue[];
  readonly input?: string;
  readonly expected: { readonly returns?: unknown; readonly config?: string };
  readonly settings?: { readonly domainSuffix: string };
}

const gatewayNamespace = "istio-system";
const meshDefaults: IngressSettings = { ingressClass: "istio", ingressService: "istio-ingressgateway" };

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  return Promise.all(cases.map((one) => (one.function === undefined ? runGolden(directory, one) : runFunction(one))));
}

const functions: Readonly<Record<string, (args: readonly JsonValue[]) => unknown>> = {
  getMatchURILength: ([match = {}]) => {
    const { length, isExact } = pathLength(fromJson(HTTPMatchRequestSchema, match).uri);
    return [length, isExact];
  },
  shouldProcessIngressWithClass: ([mesh, ingress, ingressClass]) => {
    const { metadata, spec } = ingress as unknown as KubeObject & { readonly spec?: IngressSpec };
    const { controller } = (ingressClass as unknown as { spec?: { controller?: string } } | null)?.spec ?? {};
    const classed = { annotations: metadata.annotations ?? {}, ingressClassName: spec?.ingressClassName };
    return [isServedIngress(classed, () => controller, mesh as IngressSettings)];
  },
};

function runFunction({ name, function: called = "", args = [], expected }: Case): CaseResult {
  const driver = functions[called];
  if (driver === undefined) return { name, passed: false, detail: `${called} has no counterpart here` };
  const got = driver(args);
  const passed = equalJson(got, expected.returns);
  return passed ? { name, passed } : { name, passed, detail: `want ${expected.returns}, got ${got}` };
}

async function runGolden(directory: string, { name, input = "", expected, settings }: Case): Promise<CaseResult> {
  const read = (path: string) => readFile(join(directory, path), "utf8");
  const ingresses = documents(await read(input)).map(ingressOf);
  const lookups = { domain: settings?.domainSuffix ?? "", gatewayNamespace, portOf: () => undefined };
  const got: readonly Config[] = [
    ...ingresses.map((ingress) => ingressGateway(ingress, meshDefaults, gatewayNamespace)),
    ...ingressVirtualServices(ingresses, lookups),
  ];
  const want = Object.fromEntries(documents(await read(expected.config ?? "")).map(configEntry));
  const differences = differencesOf("config", want, Object.fromEntries(got.map(ownEntry)));
  return differences.length === 0 ? { name, passed: true } : { name, passed: false, detail: differences.join("; ") };
}

function ingressOf(object: KubeObject): Config<IngressSpec> {
  return {
    key: objectKey(object),
    labels: {},
    annotations: object.metadata.annotations ?? {},
    creationTimeMs: 0,
    spec: (object["spec"] ?? {}) as IngressSpec,
  };
}

/**
 * Corpus gateway-deployment: a Gateway of the Gateway API in, what is applied to the cluster for it out. Both sides are
 * compared as data; templates are those of the inject corpus.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { builtInClasses, rulesOfController } from "@flotilla/gateway-api";
import {
  InjectionError,
  type Json,
  type KubeGateway,
  keepSelector,
  ownershipOf,
  parametersOf,
  parseInjectionConfig,
  renderGateway,
  type Texts,
  versionMark,
} from "@flotilla/injection";
import { defaultMeshConfig } from "@flotilla/model";
import { parseAllDocuments } from "yaml";
import type { CaseResult } from "./corpus.ts";

interface Case {
  readonly name: string;
  readonly gateway: KubeGateway;
  readonly objects: readonly { readonly metadata: { readonly name: string }; readonly data?: Texts }[];
  readonly settings: {
    readonly injectionValues: string;
    readonly proxyConfigs: unknown;
    readonly features: Readonly<Record<string, boolean>>;
    readonly existingDeployment: Json & { readonly metadata: { readonly name: string } };
    readonly gatewayClass: {
      readonly metadata: { readonly name: string };
      readonly spec: { readonly controllerName: string };
    };
    readonly kubernetesVersion: string;
  };
  readonly expected: string | null;
}

const templatesOf = "../inject/files/manifests/charts/istio-control/istio-discovery/files";

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  const templates: Record<string, string> = {};
  for (const name of ["kube-gateway", "waypoint"])
    templates[name] = await readFile(join(directory, templatesOf, `${name}.yaml`), "utf8");
  const results: CaseResult[] = [];
  for (const one of cases) {
    const want = one.expected === null ? [] : documents(await readFile(join(directory, one.expected), "utf8"));
    results.push(compare(one.name, want, () => applied(one, templates)));
  }
  return results;
}

function compare(name: string, want: readonly Json[], applied: () => readonly Json[]): CaseResult {
  try {
    const got = applied().map(plain);
    if (isDeepStrictEqual(got, want.map(plain))) return { name, passed: true };
    const place = want.findIndex((object, index) => !isDeepStrictEqual(plain(object), got[index]));
    const [wanted, found] = [want[place], got[Math.max(place, 0)]].map((object) => JSON.stringify(object));
    return { name, passed: false, detail: `object ${place} of ${want.length}: want ${wanted}, got ${found}` };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause instanceof Error ? cause.message : String(cause)}` };
  }
}

function applied({ gateway, objects, settings }: Case, templates: Readonly<Record<string, string>>): readonly Json[] {
  const { features, existingDeployment, gatewayClass, kubernetesVersion } = settings;
  const classes = builtInClasses({
    ...{ defaultClass: "istio", defaultController: "istio.io/gateway-controller" },
    ...{ allowsManual: true, udpRoutes: false, multiNetwork: true, waypoints: true, ambientMultiNetwork: true },
  });
  const { gatewayClassName } = gateway.spec;
  const rules =
    gatewayClassName === gatewayClass.metadata.name
      ? rulesOfController(classes, gatewayClass.spec.controllerName)
      : classes.get(gatewayClassName);
  if (rules === undefined) throw new Error(`no class ${gatewayClassName}`);
  const ownership = ownershipOf(gateway);
  if (ownership === "theirs") return [];
  const parameters = parametersOf(gateway);
  const named = objects.find(({ metadata }) => metadata.name === parameters)?.data;
  const mark = ownership === "take-over" ? [markOf(gateway)] : [];
  // The recorded installation without values of its own.
  const values = settings.injectionValues || "global:\n  hub: test\n  tag: test";
  const config = parseInjectionConfig(JSON.stringify({ templates }), values);
  const [major = 1, minor = 0] = kubernetesVersion.split(".").map(Number);
  try {
    const rendered = renderGateway(
      {
        ...{
          gateway,
          rules,
          otherListeners: [],
          overlays: named === undefined ? [] : [named],
          namespaceAnnotations: {},
        },
        ...{ mesh: defaultMeshConfig as Json, proxyConfig: (defaultMeshConfig["defaultConfig"] ?? {}) as Json },
      },
      config,
      {
        ...{ revision: "default", nativeSidecars: true, platform: "", compliancePolicy: "", clusterId: "Kubernetes" },
        ...{ kubernetesVersion: major * 100 + minor, waypoints: true },
        copiesMetadata: features["PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS"] ?? true,
        quic: features["PILOT_ENABLE_QUIC_LISTENERS"] ?? false,
      },
    );
    return [...mark, ...rendered.map((object) => withSelector(object, existingDeployment))];
  } catch (error) {
    // Marked objects stay marked: the mark is applied before the rest is rendered.
    if (error instanceof InjectionError && error.code === "INJECT_BAD_GATEWAY") return mark;
    throw error;
  }
}

function withSelector(object: Json, existing: Case["settings"]["existingDeployment"]): Json {
  const { name } = object["metadata"] as { readonly name: string };
  return object["kind"] === "Deployment" && name === existing.metadata.name ? keepSelector(object, existing) : object;
}

/** The recording leaves out which object it is. */
function markOf(gateway: KubeGateway): Json {
  const { metadata, ...mark } = versionMark(gateway) as { readonly metadata: { readonly annotations: Texts } };
  return { ...mark, metadata: { annotations: metadata.annotations } };
}

function documents(text: string): readonly Json[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Json | null)
    .filter((object) => object !== null);
}

function plain(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object));
}

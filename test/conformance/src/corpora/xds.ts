/**
 * Corpus xds: meshes of Istio's own tests and what Istio generates from them for a proxy. Cases whose mesh is
 * plain configuration run; those that put services into an in-memory registry of the test do not.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Change, type KubeObject, type Locality, parseLocality, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { createMesh } from "@flotilla/registry";
import { nameSet } from "@flotilla/xds";
import { Core } from "@flotilla/xds-server/core";
import { parseAllDocuments } from "yaml";
import { compareResources, parseRules } from "../scenarios/compare.ts";
import type { CaseResult } from "./corpus.ts";

interface Case {
  readonly name: string;
  readonly inputKind: "yaml" | "model";
  readonly features?: Readonly<Record<string, string | number | boolean>>;
  readonly inputs: {
    readonly proxy: CaseProxy;
    readonly config?: string;
    readonly mesh?: string;
    readonly networks?: string;
    readonly kubernetes?: Readonly<Record<string, string>>;
  };
  readonly expected: Readonly<Record<string, string>>;
}

interface CaseProxy {
  readonly id: string;
  readonly type: string;
  readonly dnsDomain: string;
  readonly configNamespace: string;
  readonly ipAddresses: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly locality?: Partial<Record<"region" | "zone" | "subZone", string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const types: Readonly<Record<string, { readonly short: string; readonly url: string }>> = {
  listeners: { short: "lds", url: typeUrl.listener },
  clusters: { short: "cds", url: typeUrl.cluster },
  routes: { short: "rds", url: typeUrl.route },
  endpoints: { short: "eds", url: typeUrl.endpoint },
};

const rules = parseRules(
  [
    "unordered eds/endpoints[*].lbEndpoints",
    "unordered **.match.queryParameters",
    "unordered **.match.dynamicMetadata",
  ].join("\n"),
);

/** Sidecars only: other proxies are claimed with their generators. */
export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  const claimed = cases.filter(({ inputKind, inputs }) => inputKind === "yaml" && inputs.proxy.type === "sidecar");
  return Promise.all(claimed.map((one) => runCase(directory, one)));
}

async function runCase(directory: string, one: Case): Promise<CaseResult> {
  const { name } = one;
  try {
    const core = new Core({ features: textsOf(one.features) });
    for (const changes of await loadChanges(directory, one)) {
      const [refusal] = core.apply(changes);
      if (refusal !== undefined) throw refusal.error;
    }
    const details: string[] = [];
    for (const [kind, path] of Object.entries(one.expected)) {
      const wanted = JSON.parse(await readFile(join(directory, path), "utf8")) as readonly JsonObject[];
      details.push(...differences(core, one.inputs.proxy, kind, wanted));
    }
    return { name, passed: details.length === 0, ...(details.length > 0 && { detail: details.join("; ") }) };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause}` };
  }
}

function differences(core: Core, proxy: CaseProxy, kind: string, wanted: readonly JsonObject[]): readonly string[] {
  const type = types[kind];
  if (type === undefined) return [`${kind} is no type`];
  const nameOf = (resource: JsonObject) => String(resource["name"] ?? resource["clusterName"]);
  const isNamed = kind === "routes" || kind === "endpoints";
  const set = core.resources(
    core.subjectOf(nodeOf(proxy)),
    type.url,
    isNamed ? nameSet(wanted.map(nameOf)) : undefined,
  );
  const got = new Map(
    [...(set?.byName ?? [])].map(([name, { bytes }]) => [name, bytesToJson(type.url, bytes) as JsonObject]),
  );
  const byName = new Map(
    wanted.map((resource) => [nameOf(resource), { "@type": type.url, ...resource } as JsonObject]),
  );
  return [...new Set([...byName.keys(), ...got.keys()])].flatMap((name) => {
    const [want, have] = [byName.get(name), got.get(name)];
    if (want === undefined || have === undefined)
      return [`${kind} ${name}: ${want === undefined ? "extra" : "missing"}`];
    const found = compareResources(type.short, want, { "@type": type.url, ...have }, rules).slice(0, 3);
    return found.map(({ path, want, got }) => `${kind} ${name} ${path}: want ${short(want)} got ${short(got)}`);
  });
}

/** One mesh a cluster; configuration belongs to the first. Objects without a timestamp are as old as their place in the list. */
async function loadChanges(directory: string, { inputs, features }: Case): Promise<readonly (readonly Change[])[]> {
  const read = async (path: string | undefined) => (path === undefined ? "" : readFile(join(directory, path), "utf8"));
  const mesh = inputs.mesh === undefined ? {} : (JSON.parse(await read(inputs.mesh)) as JsonObject);
  const networks = inputs.networks === undefined ? {} : (JSON.parse(await read(inputs.networks)) as JsonObject);
  const config = documents(await read(inputs.config));
  const clusters = Object.entries(inputs.kubernetes ?? { Kubernetes: undefined });
  return Promise.all(
    clusters.map(async ([cluster, path], index) => {
      const objects = [...(index === 0 ? config : []), ...documents(await read(path))];
      const env = { ...textsOf(features), CLUSTER_ID: cluster };
      return createMesh(env).apply({ put: objects, mesh: mesh as never, networks: networks as never });
    }),
  );
}

function documents(text: string): readonly KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null)
    .map((object, index) => {
      const creationTimestamp = new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString();
      return { ...object, metadata: { creationTimestamp, ...object.metadata } } as KubeObject;
    });
}

function nodeOf({ type, id, dnsDomain, ipAddresses, labels, locality, configNamespace, metadata }: CaseProxy) {
  const node = parseNode({
    id: [type, ipAddresses[0] ?? "", id, dnsDomain].join("~"),
    locality: localityOf(locality),
    metadata: {
      NAMESPACE: configNamespace,
      LABELS: labels ?? {},
      INSTANCE_IPS: ipAddresses.join(","),
      ...metadata,
    },
  });
  return node.clusterId === "" ? { ...node, clusterId: "Kubernetes" } : node;
}

function localityOf(locality: CaseProxy["locality"] = {}): Locality {
  return parseLocality([locality.region ?? "", locality.zone ?? "", locality.subZone ?? ""].join("/"));
}

function textsOf(features: Case["features"] = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(features).map(([name, value]) => [name, String(value)]));
}

function short(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 160);
}

/**
 * Corpus xds: meshes of Istio's own tests and what Istio generates from them for a proxy. Cases whose mesh is
 * plain configuration run; those that put services into an in-memory registry of the test do not.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Proxy } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { compareResources, parseRules } from "@flotilla/xds/compare";
import type { Core } from "@flotilla/xds-server/core";
import type { CaseResult } from "./corpus.ts";
import { clusterOrders, isClaimed, loadCore, type MeshCase, proxyOf, type Rename, withoutDomain } from "./mesh-case.ts";

interface Case extends MeshCase {
  readonly name: string;
  /** Files by kind of resource. */
  readonly expected: Readonly<Record<string, string>>;
}

const types: Readonly<Record<string, { readonly short: string; readonly url: string }>> = {
  listeners: { short: "lds", url: typeUrl.listener },
  clusters: { short: "cds", url: typeUrl.cluster },
  routes: { short: "rds", url: typeUrl.route },
  endpoints: { short: "eds", url: typeUrl.endpoint },
};

/** The rules of the captured scenarios. */
const rules = parseRules(
  [
    "unordered eds/endpoints[*].lbEndpoints",
    "unordered **.match.queryParameters",
    "unordered **.match.dynamicMetadata",
  ].join("\n"),
);

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  return Promise.all(cases.filter(isClaimed).map((one) => runCase(directory, one)));
}

async function runCase(directory: string, one: Case): Promise<CaseResult> {
  const { name } = one;
  try {
    const attempts = await Promise.all(clusterOrders(one).map((rename) => compareCase(directory, one, rename)));
    const [details = [], ...others] = attempts;
    const passed = details.length === 0 || others.some((other) => other.length === 0);
    return { name, passed, ...(!passed && { detail: details.join("; ") }) };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause}` };
  }
}

async function compareCase(directory: string, one: Case, rename: Rename): Promise<readonly string[]> {
  const core = await loadCore(directory, one, rename);
  const details: string[] = [];
  for (const [kind, path] of Object.entries(one.expected)) {
    const wanted = JSON.parse(rename(await readFile(join(directory, path), "utf8"))) as readonly JsonObject[];
    details.push(...differences(core, proxyOf(one, rename), kind, wanted));
  }
  return details;
}

function differences(core: Core, proxy: Proxy, kind: string, wanted: readonly JsonObject[]): readonly string[] {
  const type = types[kind];
  if (type === undefined) return [`${kind} is no type`];
  const nameOf = (resource: JsonObject) => String(resource["name"] ?? resource["clusterName"]);
  const names = kind === "routes" || kind === "endpoints" ? nameSet(wanted.map(nameOf)) : undefined;
  const set = core.resources(core.subjectOf(proxy), type.url, names);
  const found = [...(set?.byName.values() ?? [])].map(({ bytes }) => bytesToJson(type.url, bytes) as JsonObject);
  const byNameOf = (resources: readonly JsonObject[]) =>
    new Map(
      (proxy.type === "router" ? withoutDomain(resources) : resources).map((resource) => [
        nameOf(resource),
        { "@type": type.url, ...resource } as JsonObject,
      ]),
    );
  const [byName, got] = [byNameOf(wanted), byNameOf(found)];
  return [...new Set([...byName.keys(), ...got.keys()])].flatMap((name) => {
    const [want, have] = [byName.get(name), got.get(name)];
    if (want === undefined || have === undefined)
      return [`${kind} ${name}: ${want === undefined ? "extra" : "missing"}`];
    const differing = compareResources(type.short, want, have, rules).slice(0, 3);
    return differing.map(({ path, want, got }) => `${kind} ${name} ${path}: want ${short(want)} got ${short(got)}`);
  });
}

function short(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 160);
}

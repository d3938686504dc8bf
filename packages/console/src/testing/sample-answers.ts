/** Answers to calls of the contract, about the sample mesh. */

import {
  sampleCertificates,
  sampleComparison,
  sampleHistory,
  sampleNeighbours,
  sampleObject,
  sampleProxyDiff,
  sampleResource,
  sampleSchema,
  sampleSettings,
  sampleStats,
} from "./sample-details.ts";
import { type SampleMesh, sampleOverview, sampleProxy, sampleResources } from "./sample-mesh.ts";
import { pageOf } from "./sample-pages.ts";
import { sampleWay } from "./sample-way.ts";

/** A status of the API and the JSON beside it. */
export interface SampleAnswer {
  readonly status: number;
  readonly value: unknown;
}

interface Call {
  readonly mesh: SampleMesh;
  /** Values of the parts in braces, decoded. */
  readonly names: readonly string[];
  readonly query: URLSearchParams;
  readonly body: string;
}

type Answering = (call: Call) => unknown;

const answers: readonly (readonly [call: string, answer: Answering])[] = [
  ["GET overview", ({ mesh }) => sampleOverview(mesh)],
  [
    "GET proxies",
    ({ mesh, query }) =>
      pageOf(mesh.proxies, query, {
        facets: ["namespace", "type", "version", "replica", "state"],
        textOf: ({ proxy, type, version, replica, peer }) => `${proxy} ${type} ${version} ${replica} ${peer}`,
      }),
  ],
  ["GET proxies/{}", ({ mesh, names: [proxy = ""] }) => sampleProxy(mesh, proxy)],
  [
    "GET proxies/{}/resources",
    ({ mesh, query }) =>
      pageOf(sampleResources(mesh, query.get("type") ?? ""), query, { facets: [], textOf: ({ name }) => name }),
  ],
  ["GET proxies/{}/resource", ({ query }) => sampleResource(query.get("type") ?? "", query.get("name") ?? "")],
  ["GET proxies/{}/diff", () => sampleProxyDiff()],
  ["GET proxies/{}/config-dump", ({ mesh, names: [proxy = ""] }) => sampleProxy(mesh, proxy)],
  [
    "GET proxies/{}/stats",
    ({ mesh, query }) => pageOf(sampleStats(mesh), query, { facets: [], textOf: ({ name }) => name }),
  ],
  [
    "GET rejections",
    ({ mesh, query }) =>
      pageOf(mesh.rejections, query, { facets: ["type"], textOf: ({ object, message }) => `${object} ${message}` }),
  ],
  [
    "GET changes",
    ({ mesh, query }) =>
      pageOf(mesh.changes, query, {
        facets: [],
        textOf: ({ generation, by, objects }) => `${generation} ${by} ${objects.map(({ object }) => object).join(" ")}`,
      }),
  ],
  ["GET changes/compare", ({ query }) => sampleComparison(Number(query.get("from")), Number(query.get("to")))],
  [
    "GET objects",
    ({ mesh, query }) =>
      pageOf(mesh.objects, query, {
        facets: ["kind", "namespace", "state", "source"],
        textOf: ({ object, source, reason }) => `${object} ${source} ${reason ?? ""}`,
      }),
  ],
  ["GET objects/{}/{}/{}", ({ mesh, names }) => sampleObject(mesh, names.join("/"))],
  ["GET objects/{}/{}/{}/history", ({ mesh, names }) => sampleHistory(mesh, names.join("/"))],
  [
    "GET objects/{}/{}/{}/resources",
    ({ mesh, query }) => ({
      ...pageOf(
        mesh.proxies.slice(0, 120).map(({ proxy }) => ({ proxy, type: "rds", name: "8080" })),
        query,
        { facets: [], textOf: ({ proxy }) => proxy },
      ),
      isComplete: true,
    }),
  ],
  ["POST objects/apply", applyAnswer],
  ["DELETE objects/{}/{}/{}", () => ({ result: "deleted" })],
  [
    "GET kinds",
    () => ({
      kinds: ["VirtualService", "DestinationRule"].map((kind) => ({
        ...{ kind, name: kind, apiVersion: "networking.istio.io/v1", isNamespaced: true },
      })),
    }),
  ],
  ["GET kinds/{}/schema", ({ names: [kind = ""] }) => sampleSchema(kind)],
  ["GET certificates", () => sampleCertificates()],
  ["GET settings", () => sampleSettings()],
  ["PUT settings/{}/{}/levels", () => null],
  [
    "GET topology/namespaces",
    ({ mesh, query }) => {
      const names = [...new Set(mesh.services.map(({ namespace }) => namespace))];
      const rows = names.map((namespace) => ({
        ...{ namespace, proxies: 100, policies: 12 },
        services: mesh.services.filter((one) => one.namespace === namespace).length,
      }));
      return pageOf(rows, query, { facets: [], textOf: ({ namespace }) => namespace });
    },
  ],
  [
    "GET topology/services",
    ({ mesh, query }) =>
      pageOf(mesh.services, query, { facets: ["namespace", "registry"], textOf: ({ hostname }) => hostname }),
  ],
  ["GET topology/path", ({ query }) => sampleWay(query.get("from") ?? "")],
  ["GET topology/services/{}/{}", ({ mesh, names: [, hostname = ""] }) => sampleNeighbours(mesh, hostname)],
];

/** Undefined: there is no such thing. */
export function sampleAnswer(mesh: SampleMesh, call: string, url: URL, body: string): SampleAnswer | undefined {
  const [method = "", path = ""] = call.replace("/api/v1/", "").split(" ");
  for (const [pattern, answer] of answers) {
    const [wantedMethod, wantedPath = ""] = pattern.split(" ");
    const names = wantedMethod === method ? namesOf(wantedPath, path) : undefined;
    if (names === undefined) continue;
    const value = answer({ mesh, names, query: url.searchParams, body });
    if (value === undefined) return undefined;
    const isRefused = typeof value === "object" && value !== null && "error" in value;
    return { status: isRefused ? 422 : value === null ? 204 : 200, value: value ?? undefined };
  }
  return undefined;
}

function namesOf(pattern: string, path: string): readonly string[] | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/").map(decodeURIComponent)];
  if (wanted.length !== given.length || !wanted.every((part, at) => part === "{}" || part === given[at]))
    return undefined;
  return given.filter((_, at) => wanted[at] === "{}");
}

/** Refuses weights below 100, as validation does. */
function applyAnswer({ body }: Call): unknown {
  const { yaml, dryRun } = JSON.parse(body) as { readonly yaml: string; readonly dryRun: boolean };
  const line = yaml.split("\n").findIndex((text) => text.includes("weight: 40")) + 1;
  const causes = [{ item: 0, field: "spec.http[0].route", message: "weights sum up to 50, not 100", line }];
  if (line > 0) return { error: { code: "invalid", message: "VirtualService/shop/checkout is not valid", causes } };
  const [kind, name, namespace] = ["kind", "name", "namespace"].map(
    (field) => new RegExp(`${field}: (\\S+)`).exec(yaml)?.[1],
  );
  return {
    dryRun,
    ignored: [],
    items: [
      {
        ...{ object: `${kind}/${namespace}/${name}`, result: "configured", warnings: ["a subset is used nowhere"] },
        differences: [{ path: "spec.http[0].route[0].weight", before: 90, after: 80 }],
      },
    ],
  };
}

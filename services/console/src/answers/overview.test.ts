/** The overview, from what the services answer, and with some of them away. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PushFigures, ReplicaState } from "@flotilla/console/contract";
import { ByReplica, NoAnswer, requestOf, servicesWith } from "../upstream/answers.fixture.ts";
import { overviewHandler } from "./overview.ts";

const pushes: PushFigures = { samples: [], stepMs: 15_000 };
const replica = (service: ReplicaState["service"], name: string) => ({
  ...{ service, replica: name, state: "ready" as const, detail: "", address: { name, url: `http://${name}` } },
});
const replicas = [replica("config-controller", "config"), replica("xds-server", "x1"), replica("xds-server", "x2")];
const facet = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([value, count]) => ({ value, count }));

const pages = {
  "xds-server": ["x1", "x2"],
  "xds-server /debug/fleet": {
    total: 5,
    facets: {
      state: facet({ synced: 4, rejected: 1 }),
      type: facet({ sidecar: 5 }),
      version: facet({ "1.27": 5 }),
      replica: facet({ x1: 2, x2: 3 }),
    },
  },
  "xds-server /debug/position": new ByReplica({ x1: { position: 41 }, x2: { position: 42 } }),
  "config-controller /debug/object_rows": {
    rows: [
      { object: "VirtualService/shop/a", state: "warning", reason: "hosts is odd" },
      { object: "Gateway/shop/b", state: "rejected", reason: "unknown cluster" },
    ],
    ...{ total: 9, generation: 42, states: { live: 7, warning: 1, rejected: 1 } },
  },
  "config-controller /debug/rejections": { rows: [{ message: "unknown cluster" }], total: 6 },
  "config-controller /debug/problems": {
    problems: [
      { object: "Gateway/shop/c", field: "spec", reason: "is empty" },
      { file: "mesh.yaml", reason: "is no YAML", field: "" },
    ],
  },
  "service-controller /debug/problems": { problems: [{ reason: "cluster east is away" }] },
};

const overviewOf = async (more: Readonly<Record<string, unknown>> = {}, list = replicas) => {
  const { services, asked } = servicesWith({ ...pages, ...more });
  const handler = overviewHandler({ services, replicas: { list: () => list }, metrics: { pushes: () => pushes } });
  return { overview: await handler(requestOf()), asked };
};

describe("the overview", () => {
  it("has everything that the services answer", async () => {
    const { overview, asked } = await overviewOf();
    const state = (service: string, name: string) => ({ service, replica: name, state: "ready", detail: "" });
    assert.deepEqual(overview, {
      services: [
        state("config-controller", "config"),
        { ...state("xds-server", "x1"), generation: 41, proxies: 2 },
        { ...state("xds-server", "x2"), generation: 42, proxies: 3 },
      ],
      generation: 42,
      proxies: {
        ...{ total: 5, byState: { synced: 4, sending: 0, rejected: 1 }, byType: { sidecar: 5 } },
        ...{ byVersion: { "1.27": 5 }, byReplica: { x1: 2, x2: 3 } },
      },
      objects: { total: 9, live: 7, arriving: 0, warning: 1, rejected: 1, refused: 0 },
      rejections: [{ message: "unknown cluster" }],
      rejectionCount: 6,
      problems: [
        {
          severity: "error",
          service: "config-controller",
          object: "Gateway/shop/c",
          field: "spec",
          reason: "is empty",
        },
        { severity: "error", service: "config-controller", object: "mesh.yaml", reason: "is no YAML" },
        { severity: "error", service: "service-controller", reason: "cluster east is away" },
        { severity: "error", service: "config-controller", object: "Gateway/shop/b", reason: "unknown cluster" },
        { severity: "warning", service: "config-controller", object: "VirtualService/shop/a", reason: "hosts is odd" },
      ],
      problemCounts: { error: 4, warning: 1, info: 0 },
      pushes,
      away: [],
    });
    assert.deepEqual(asked.toSorted(), [
      "config-controller /debug/object_rows?state=warning%2Crejected&limit=200&sort=-generation by T",
      "config-controller /debug/problems by T",
      "config-controller /debug/rejections?limit=5 by T",
      "service-controller /debug/problems by T",
      "xds-server /debug/fleet?limit=1 by T",
      "xds-server /debug/position by T",
    ]);
  });

  it("names services that do not answer once each, and has what the others said", async () => {
    const gone = new NoAnswer("refused");
    const { overview } = await overviewOf({
      "config-controller /debug/object_rows": gone,
      "config-controller /debug/rejections": gone,
      "config-controller /debug/problems": gone,
      "xds-server /debug/position": new ByReplica({ x1: gone, x2: { position: 7 } }),
    });
    const { services, generation, objects, rejections, rejectionCount, problems, away, proxies } = overview;
    assert.deepEqual(
      services.map((one) => one.generation),
      [undefined, undefined, 7],
    );
    assert.deepEqual([generation, rejections, rejectionCount, proxies.total], [undefined, [], 0, 5]);
    assert.deepEqual(objects, { total: 0, live: 0, arriving: 0, warning: 0, rejected: 0, refused: 0 });
    assert.deepEqual(
      problems.map(({ reason }) => reason),
      ["cluster east is away"],
    );
    assert.deepEqual(
      away.map(({ service, replica: of, message }) => [service, of, message]),
      [
        ["config-controller", undefined, "refused"],
        ["xds-server", "x1", "refused"],
      ],
    );
  });

  it("has an empty fleet where xds-server does not show it", async () => {
    const { overview } = await overviewOf({ "xds-server /debug/fleet": new NoAnswer("not yours", 403) });
    assert.deepEqual(overview.proxies, {
      ...{ total: 0, byState: { synced: 0, sending: 0, rejected: 0 }, byType: {}, byVersion: {}, byReplica: {} },
    });
    assert.deepEqual(
      overview.away.map(({ reason }) => reason),
      ["forbidden"],
    );
    assert.equal(overview.services[1]?.proxies, undefined);
  });

  it("shows 50 problems and counts all", async () => {
    const problems = Array.from({ length: 60 }, (_, i) => ({ reason: `${i}` }));
    const { overview } = await overviewOf({ "config-controller /debug/problems": { problems: [...problems, {}] } });
    assert.deepEqual([overview.problems.length, overview.problemCounts], [50, { error: 63, warning: 1, info: 0 }]);
  });
});

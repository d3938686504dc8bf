/** Proxies: what is asked of the services for each page, and what is made of their answers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NoAnswer, requestOf, servicesWith } from "../upstream/answers.fixture.ts";
import { dumpedResources } from "./config-dump.ts";
import { type ProxySources, proxyHandlers } from "./proxies.ts";

const params = { proxy: "web.shop" };
/** No address of an admin interface is known. */
const unknownStats: Pick<ProxySources, "admin" | "stats"> = {
  admin: { of: async () => undefined },
  stats: { read: () => Promise.reject(new Error("nothing is to be read")) },
};
const handlersOf = (pages: Readonly<Record<string, unknown>>) => {
  const { services, asked } = servicesWith(pages);
  return { handlers: proxyHandlers({ ...unknownStats, services }), asked };
};

describe("lists of proxies", () => {
  it("pass the caller's query on", async () => {
    const page = { rows: [], total: 0 };
    const { handlers, asked } = handlersOf({
      "xds-server /debug/fleet": page,
      "xds-server /debug/resources": page,
      "config-controller /debug/rejections": page,
    });
    const expected = { ...page, away: [] };
    assert.deepEqual(await handlers["GET /api/v1/proxies"](requestOf("search=a&limit=3")), expected);
    assert.deepEqual(await handlers["GET /api/v1/rejections"](requestOf("sort=object")), expected);
    const resources = handlers["GET /api/v1/proxies/{proxy}/resources"];
    assert.deepEqual(await resources(requestOf("type=cds&proxyID=other.shop", { params })), expected);
    assert.deepEqual(asked, [
      "xds-server /debug/fleet?search=a&limit=3 by T",
      "config-controller /debug/rejections?sort=object by T",
      "xds-server /debug/resources?type=cds&proxyID=web.shop by T",
    ]);
    assert.throws(() => resources(requestOf("type=", { params })), { code: "bad-request", message: "type is missing" });
  });
});

describe("one proxy", () => {
  const described = { labels: { app: "web" }, metadata: { VERSION: "1" }, locality: "r/z", resources: [] };
  const row = { proxy: "web.shop", state: "synced" };
  const pages = {
    "xds-server /debug/proxy": described,
    "xds-server /debug/fleet": { rows: [{ proxy: "web.shop.other" }, row] },
    "config-controller /debug/rejections": {
      rows: [
        { message: "own", proxies: ["web.shop"] },
        { message: "other", proxies: ["web.shop.other"] },
      ],
    },
  };
  const ask = (more: object) =>
    handlersOf({ ...pages, ...more }).handlers["GET /api/v1/proxies/{proxy}"](requestOf("", { params }));

  it("has its row, what it is, and what it rejects", async () => {
    const rejections = [{ message: "own", proxies: ["web.shop"] }];
    assert.deepEqual(await ask({}), { ...row, ...described, rejections, hasStats: false });
    assert.deepEqual(await ask({ "config-controller /debug/rejections": new NoAnswer("away") }), {
      ...{ ...row, ...described, rejections: [], hasStats: false },
    });
  });

  for (const [name, more, code] of [
    ["is not connected", { "xds-server /debug/fleet": { rows: [] } }, "not-found"],
    ["is unknown", { "xds-server /debug/proxy": new NoAnswer("no proxy", 404) }, "not-found"],
    ["is not the caller's", { "xds-server /debug/proxy": new NoAnswer("not yours", 403) }, "forbidden"],
    ["is of a service that is away", { "xds-server /debug/fleet": new NoAnswer("gone") }, "away"],
  ] as const)
    it(`is refused where it ${name}`, () => assert.rejects(async () => ask(more), { code }));
});

describe("statistics of a proxy", () => {
  const described = { peer: "10.0.0.7:4711", metadata: { INSTANCE_IPS: "10.0.0.7" }, labels: {}, resources: [] };
  const rows = [
    { name: "b_total", value: 2 },
    { name: "a_total", value: 3 },
  ];
  const ask = (query: string, page: unknown, address: string | undefined = "10.0.0.7:15090") => {
    const { services } = servicesWith({ "xds-server /debug/proxy": page });
    const [given, read]: [unknown[], string[]] = [[], []];
    const handlers = proxyHandlers({
      services,
      admin: {
        of: async (known) => {
          given.push(known);
          return address === "" ? undefined : address;
        },
      },
      stats: {
        read: async (at) => {
          read.push(at);
          return rows;
        },
      },
    });
    return { page: handlers["GET /api/v1/proxies/{proxy}/stats"](requestOf(query, { params })), given, read };
  };

  it("are those at its address, searched, sorted and cut", async () => {
    const asked = ask("sort=-value&limit=1", described);
    assert.deepEqual(await asked.page, {
      rows: [rows[1]],
      matching: 2,
      total: 2,
      offset: 0,
      limit: 1,
      facets: {},
      away: [],
    });
    const { peer, metadata } = described;
    assert.deepEqual([asked.given, asked.read], [[{ proxy: "web.shop", peer, metadata }], ["10.0.0.7:15090"]]);
    assert.deepEqual((await ask("search=B_", described).page).rows, [rows[0]]);
  });

  for (const [name, page, address, code] of [
    ["no address is known", described, "", "not-found"],
    ["the proxy is not the caller's", new NoAnswer("not yours", 403), undefined, "forbidden"],
    ["the proxy is not connected", new NoAnswer("no proxy", 404), undefined, "not-found"],
  ] as const)
    it(`are refused, and nothing is read, where ${name}`, async () => {
      const asked = ask("", page, address);
      await assert.rejects(async () => asked.page, { code });
      assert.deepEqual(asked.read, []);
    });
});

describe("one resource", () => {
  const since = { position: 3, at: "then" };
  const cases: readonly (readonly [name: string, explained: object, expected: object])[] = [
    [
      "that was acknowledged",
      {
        ...{
          position: 5,
          since,
          change: { causedBy: ["a"], differences: [] },
          delivery: { acknowledged: { position: 5, at: "now" } },
        },
        madeFrom: [{ object: "VirtualService/shop/a", position: 3, by: "ann" }, { object: "Service/shop/web" }],
      },
      {
        ...{ generation: 5, since: { generation: 3, at: "then" }, change: { causedBy: ["a"], differences: [] } },
        madeFrom: [{ object: "VirtualService/shop/a", generation: 3, by: "ann" }, { object: "Service/shop/web" }],
        acknowledged: { generation: 5, at: "now" },
      },
    ],
    [
      "that is refused, of unknown age",
      { position: 5, since: "the start", madeFrom: [], delivery: { refused: "bad" } },
      { generation: 5, madeFrom: [], rejected: "bad" },
    ],
  ];
  for (const [name, explained, explanation] of cases)
    it(`${name} is explained`, async () => {
      const resource = { type: "cds", name: "c", content: { name: "c" } };
      const { handlers, asked } = handlersOf({
        "xds-server /debug/resource": resource,
        "xds-server /debug/explain": explained,
      });
      const ask = handlers["GET /api/v1/proxies/{proxy}/resource"];
      assert.deepEqual(await ask(requestOf("type=cds&name=c", { params })), { ...resource, explanation });
      const query = "proxyID=web.shop&type=cds&name=c by T";
      assert.deepEqual(asked, [`xds-server /debug/resource?${query}`, `xds-server /debug/explain?${query}`]);
      await assert.rejects(async () => ask(requestOf("type=cds", { params })), { code: "bad-request" });
    });
});

const dumpOf = (clusters: readonly object[]) => ({
  configs: [{ dynamicActiveClusters: clusters.map((cluster) => ({ cluster })) }],
});

describe("differences of a proxy", () => {
  const changed = [
    { type: "cds", name: "c", op: "changed", differences: [{ path: "a", before: 1, after: 2 }], since: 1 },
    { type: "lds", name: "l", op: "added", differences: [] },
  ];

  it("are those of its last changes, all or of a type", async () => {
    const { handlers, asked } = handlersOf({ "xds-server /debug/changed_resources": { resources: changed } });
    const ask = handlers["GET /api/v1/proxies/{proxy}/diff"];
    const { since: _, ...first } = changed[0] ?? {};
    assert.deepEqual((await ask(requestOf("", { params }))).rows, [first, changed[1]]);
    assert.deepEqual((await ask(requestOf("type=lds", { params }))).rows, [changed[1]]);
    assert.deepEqual((await ask(requestOf("search=added", { params }))).rows, [changed[1]]);
    assert.deepEqual((await ask(requestOf("sort=-name&limit=1", { params }))).rows, [changed[1]]);
    assert.equal(asked[0], "xds-server /debug/changed_resources?proxyID=web.shop by T");
  });

  it("are what it has and another proxy does not, and what is not equal", async () => {
    const own = dumpOf([{ name: "same" }, { name: "mine" }, { name: "both", a: { b: 2 } }]);
    const theirs = dumpOf([{ name: "same" }, { name: "theirs" }, { name: "both", a: { b: 1 } }]);
    const { services } = servicesWith({});
    const first = async (_: string, { query }: { readonly query: Readonly<Record<string, string>> }) => ({
      ...{ isAnswered: true, replica: "a", value: query["proxyID"] === "web.shop" ? own : theirs },
    });
    const ask = proxyHandlers({ ...unknownStats, services: { ...services, first } as never })[
      "GET /api/v1/proxies/{proxy}/diff"
    ];
    assert.deepEqual((await ask(requestOf("with=api.shop", { params }))).rows, [
      { type: "cds", name: "both", op: "changed", differences: [{ path: "a.b", before: 1, after: 2 }] },
      { type: "cds", name: "mine", op: "added", differences: [] },
      { type: "cds", name: "theirs", op: "removed", differences: [] },
    ]);
  });
});

it("a config dump is a file with the text as it is", async () => {
  const { handlers, asked } = handlersOf({ "xds-server /debug/config_dump": '{"configs": []}' });
  assert.deepEqual(await handlers["GET /api/v1/proxies/{proxy}/config-dump"](requestOf("", { params })), {
    ...{ fileName: "web.shop-config-dump.json", contentType: "application/json", text: '{"configs": []}' },
  });
  assert.deepEqual(asked, ["xds-server /debug/config_dump?proxyID=web.shop by T"]);
});

describe("resources of a config dump", () => {
  const parts: readonly (readonly [part: object, expected: readonly string[]])[] = [
    [{ dynamicActiveClusters: [{ cluster: { name: "a" } }, { cluster: { name: "b" } }] }, ["cds a", "cds b"]],
    [{ dynamicListeners: [{ activeState: { listener: { name: "a" } } }] }, ["lds a"]],
    [{ dynamicRouteConfigs: [{ routeConfig: { name: "a" } }] }, ["rds a"]],
    [{ dynamicEndpointConfigs: [{ endpointConfig: { clusterName: "a" } }] }, ["eds a"]],
    [{ dynamicActiveSecrets: [{ secret: { name: "a" } }] }, ["sds a"]],
    [{ ecdsFilters: [{ ecdsFilter: { name: "a" } }] }, ["ecds a"]],
    [{ dynamicScopedRouteConfigs: [{ scopedRouteConfigs: [{ name: "a" }, { name: "b" }] }] }, ["srds a", "srds b"]],
    [{ dynamicListeners: [{ activeState: null }, {}] }, ["lds "]],
    [{ dynamicScopedRouteConfigs: [{ scopedRouteConfigs: [null] }] }, ["srds "]],
    [{ staticClusters: [{ cluster: { name: "a" } }], dynamicActiveClusters: "none" }, []],
  ];
  for (const [part, expected] of parts)
    it(`${JSON.stringify(part)} has ${expected.join(", ") || "none"}`, () =>
      assert.deepEqual([...dumpedResources({ configs: [part] }).keys()], expected));

  it("are none of what is no dump", () => {
    for (const dump of [null, "text", {}, { configs: {} }, { configs: [null, 1] }])
      assert.equal(dumpedResources(dump).size, 0);
  });

  it("have their content", () => {
    const cluster = { name: "a", type: "EDS" };
    assert.deepEqual(dumpedResources(dumpOf([cluster])).get("cds a"), { type: "cds", name: "a", content: cluster });
  });
});

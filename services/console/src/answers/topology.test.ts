/** The mesh as a graph, from what xds-server shows: services and namespaces, one service with its neighbours, policies and mutual TLS. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TopologyService } from "@flotilla/console/contract";
import { ByQuery, NoAnswer, requestOf, servicesWith } from "../upstream/answers.fixture.ts";
import { idsAround, layoutAround, type MeshObject, nodesOf, policiesOf, waysAround } from "./neighbours.ts";
import { topologyHandlers } from "./topology.ts";

const full = (name: string, namespace = "shop") => `${name}.${namespace}.svc.cluster.local`;
const service = (name: string, namespace = "shop"): TopologyService => ({
  ...{ hostname: full(name, namespace), namespace, registry: "Kubernetes" },
  ...{ ports: [{ name: "http", number: 80, protocol: "HTTP" }], endpoints: 2, healthy: 1 },
});
const object = (kind: string, name: string, spec: unknown, namespace = "shop"): MeshObject => ({
  ...{ kind, metadata: { name, namespace } },
  spec,
});
const virtualService = (name: string, spec: object, namespace?: string) =>
  object("VirtualService", name, spec, namespace);
const to = (host: string, weight?: number) => ({ destination: { host }, ...(weight !== undefined && { weight }) });

describe("neighbours of a service", () => {
  const web = service("web");
  const of = (...objects: readonly MeshObject[]) => {
    const { edges, gateways } = waysAround(web, objects);
    return { nodes: nodesOf(idsAround(web, edges), gateways, [web, service("api"), service("db", "data")]), edges };
  };
  const cases: readonly {
    readonly name: string;
    readonly objects: readonly MeshObject[];
    readonly expected: object;
  }[] = [
    { name: "are none without routes", objects: [], expected: { nodes: [], edges: [] } },
    {
      name: "are where its own routes lead, by weight, of all kinds of routes",
      objects: [
        virtualService("web", {
          hosts: ["web"],
          http: [{ route: [to("api", 90), to(full("db", "data"), 10)] }],
          tcp: [{ route: [to("ext.example.com")] }],
          tls: [{ route: [to("*.wild")] }],
        }),
      ],
      expected: {
        nodes: [
          { id: "*.wild", label: "*.wild", kind: "external", namespace: "" },
          { id: full("api"), label: full("api"), kind: "service", namespace: "shop" },
          { id: full("db", "data"), label: full("db", "data"), kind: "service", namespace: "data" },
          { id: "ext.example.com", label: "ext.example.com", kind: "external", namespace: "" },
        ],
        edges: [
          { from: full("web"), to: full("api"), weight: 90, object: "VirtualService/shop/web" },
          { from: full("web"), to: full("db", "data"), weight: 10, object: "VirtualService/shop/web" },
          { from: full("web"), to: "ext.example.com", object: "VirtualService/shop/web" },
          { from: full("web"), to: "*.wild", object: "VirtualService/shop/web" },
        ],
      },
    },
    {
      name: "are hosts whose routes lead to it, each way once, and never itself",
      objects: [
        virtualService("api", {
          hosts: ["api", "web"],
          http: [{ route: [to("web")] }, { route: [to("web")] }, {}, { route: [{}] }],
        }),
        virtualService("other", { hosts: ["api"], http: [{ route: [to(full("db", "data"))] }] }),
        object("DestinationRule", "web", { host: "web" }),
        { kind: "VirtualService", metadata: { name: "empty" } },
      ],
      expected: {
        nodes: [{ id: full("api"), label: full("api"), kind: "service", namespace: "shop" }],
        edges: [{ from: full("api"), to: full("web"), object: "VirtualService/shop/api" }],
      },
    },
    {
      name: "are gateways of routes that lead to it, and no others",
      objects: [
        virtualService("in", {
          hosts: ["web.example.com"],
          gateways: ["mesh", "edge", "infra/public"],
          http: [{ route: [to("web")] }],
        }),
        virtualService("else", { hosts: ["x.example.com"], gateways: ["third"], http: [{ route: [to("api")] }] }),
      ],
      expected: {
        nodes: [
          { id: "infra/public", label: "infra/public", kind: "gateway", namespace: "infra" },
          { id: "shop/edge", label: "shop/edge", kind: "gateway", namespace: "shop" },
          { id: "web.example.com", label: "web.example.com", kind: "external", namespace: "" },
        ],
        edges: [
          { from: "web.example.com", to: full("web"), object: "VirtualService/shop/in" },
          { from: "shop/edge", to: full("web"), object: "VirtualService/shop/in" },
          { from: "infra/public", to: full("web"), object: "VirtualService/shop/in" },
        ],
      },
    },
  ];
  for (const { name, objects, expected } of cases) it(name, () => assert.deepEqual(of(...objects), expected));
});

it("names without a dot are completed with the domain of the service", () => {
  const web = { hostname: "web.shop.svc.mesh.example" };
  const objects = [virtualService("api", { hosts: ["api"], http: [{ route: [to("web")] }] })];
  assert.deepEqual(waysAround(web, objects).edges, [
    { from: "api.shop.svc.mesh.example", to: "web.shop.svc.mesh.example", object: "VirtualService/shop/api" },
  ]);
});

describe("what applies to a service", () => {
  const policies: readonly (readonly [object: MeshObject, summary: string | undefined])[] = [
    [object("AuthorizationPolicy", "a", {}), "ALLOW, all workloads of the namespace"],
    [object("AuthorizationPolicy", "a", { action: "DENY", selector: {} }), "DENY, selected workloads of the namespace"],
    [object("AuthorizationPolicy", "a", {}, "istio-system"), "ALLOW, all workloads of the namespace"],
    [object("AuthorizationPolicy", "a", {}, "bank"), undefined],
    [
      { kind: "RequestAuthentication", metadata: { name: "a", namespace: "shop" } },
      "tokens of requests, all workloads of the namespace",
    ],
    [object("PeerAuthentication", "a", {}), "mutual TLS as around it, all workloads of the namespace"],
    [
      object("PeerAuthentication", "a", { mtls: { mode: "STRICT" } }),
      "mutual TLS STRICT, all workloads of the namespace",
    ],
    [object("DestinationRule", "a", { host: "web" }), "how the service is called"],
    [object("DestinationRule", "a", { host: full("web") }, "istio-system"), "how the service is called"],
    [object("DestinationRule", "a", { host: "api" }), undefined],
    [object("DestinationRule", "a", {}), undefined],
    [object("VirtualService", "a", { hosts: ["web"] }), undefined],
  ];
  for (const [given, summary] of policies)
    it(`${given.kind} ${JSON.stringify(given.spec)} of ${given.metadata.namespace}: ${summary ?? "nothing"}`, () => {
      const { kind, metadata } = given;
      const expected = summary === undefined ? [] : [{ object: `${kind}/${metadata.namespace}/a`, kind, summary }];
      assert.deepEqual(policiesOf(service("web"), [given], "istio-system").policies, expected);
    });

  const peers = (mode: string | undefined, namespace?: string, selector?: object) =>
    object("PeerAuthentication", "p", { ...(mode && { mtls: { mode } }), ...(selector && { selector }) }, namespace);
  const modes: readonly (readonly [name: string, objects: readonly MeshObject[], mode: string])[] = [
    ["nothing", [], "PERMISSIVE"],
    ["the root namespace", [peers("STRICT", "istio-system")], "STRICT"],
    ["the own namespace first", [peers("STRICT", "istio-system"), peers("DISABLE")], "DISABLE"],
    ["the root namespace where the own is unset", [peers("UNSET"), peers("STRICT", "istio-system")], "STRICT"],
    ["the root namespace where the own says nothing", [peers(undefined), peers("STRICT", "istio-system")], "STRICT"],
    ["no other namespace", [peers("STRICT", "bank")], "PERMISSIVE"],
    ["nothing that selects", [peers("STRICT", "shop", {})], "PERMISSIVE"],
    ["no other kind", [object("DestinationRule", "p", { mtls: { mode: "STRICT" } })], "PERMISSIVE"],
  ];
  for (const [name, objects, mode] of modes)
    it(`mutual TLS is that of ${name}`, () =>
      assert.equal(policiesOf(service("web"), objects, "istio-system").mtls, mode));
});

describe("the picture", () => {
  const node = (id: string) => ({ id, label: id, kind: "service" as const, namespace: "" });

  it("has callers to the left and callees to the right, from the top by name", () => {
    const edges = [
      { from: "c", to: "z" },
      { from: "c", to: "y" },
      { from: "a", to: "c" },
    ];
    const places = layoutAround(node("c"), ["z", "a", "y"].map(node), edges).map(({ id, x, y }) => [id, x, y]);
    assert.deepEqual(places, [
      ["c", 0, 0],
      ["a", -1, 0],
      ["y", 1, -1],
      ["z", 1, 1],
    ]);
  });

  it("begins a second column behind 25", () => {
    const names = Array.from({ length: 27 }, (_, i) => `n${String(i).padStart(2, "0")}`);
    const edges = names.map((to) => ({ from: "c", to }));
    const places = layoutAround(node("c"), names.map(node), edges).map(({ id, x, y }) => [id, x, y]);
    assert.deepEqual(
      [places[1], places[25], places[26], places[27]],
      [
        ["n00", 0.75, -1],
        ["n24", 0.75, 1],
        ["n25", 1, -1],
        ["n26", 1, 1],
      ],
    );
    assert.equal(places.length, 28);
  });
});

describe("the pages of the topology", () => {
  const web = {
    ...{ hostname: full("web"), namespace: "shop", registry: "Kubernetes", endpoints: 4, healthy: 3 },
    ports: [{ name: "http", number: 80, protocol: "HTTP" }],
  };
  const external = { hostname: "ext.example.com", namespace: "", registry: "", ports: [], endpoints: 0, healthy: 0 };
  const around = [
    virtualService("web", { hosts: ["web"], http: [{ route: [to("ext.example.com")] }] }),
    object("PeerAuthentication", "p", { mtls: { mode: "STRICT" } }, "mesh-root"),
    object("AuthorizationPolicy", "p", {}),
  ];
  const pages = {
    "xds-server /debug/services": new ByQuery((query) => {
      const names = query.get("hostname")?.split(",");
      return { rows: [external, web].filter(({ hostname }) => names?.includes(hostname) ?? true), total: 2 };
    }),
    "xds-server /debug/namespaces": { rows: [{ namespace: "shop", services: 1, proxies: 3, policies: 2 }], total: 1 },
    "xds-server /debug/service_objects": { rootNamespace: "mesh-root", objects: around },
  };
  const asking = (more: object = {}) => {
    const { services, asked } = servicesWith({ ...pages, ...more });
    return { handlers: topologyHandlers(services), asked };
  };
  const one = async (handlers: ReturnType<typeof topologyHandlers>, namespace = "shop") =>
    handlers["GET /api/v1/topology/services/{namespace}/{hostname}"](
      requestOf("", { params: { namespace, hostname: full("web") } }),
    );

  it("list services and namespaces as xds-server searches, sorts and cuts them", async () => {
    const { handlers, asked } = asking();
    const services = await handlers["GET /api/v1/topology/services"](requestOf("namespace=shop&sort=-endpoints"));
    assert.deepEqual(services, { rows: [external, web], total: 2, away: [] } as object);
    const namespaces = await handlers["GET /api/v1/topology/namespaces"](requestOf("search=shop"));
    assert.deepEqual(namespaces, { ...pages["xds-server /debug/namespaces"], away: [] } as object);
    assert.deepEqual(asked, [
      "xds-server /debug/services?namespace=shop&sort=-endpoints by T",
      "xds-server /debug/namespaces?search=shop by T",
    ]);
  });

  it("show one service with its neighbours", async () => {
    const near = { label: "ext.example.com", kind: "service", namespace: "", id: "ext.example.com" };
    assert.deepEqual(await one(asking().handlers), {
      ...{ service: web, mtls: "STRICT", away: [], omitted: 0 },
      nodes: [
        { id: full("web"), label: full("web"), kind: "service", namespace: "shop", x: 0, y: 0 },
        { ...near, x: 1, y: 0 },
      ],
      edges: [{ from: full("web"), to: "ext.example.com", object: "VirtualService/shop/web" }],
      policies: [
        {
          object: "PeerAuthentication/mesh-root/p",
          kind: "PeerAuthentication",
          summary: "mutual TLS STRICT, all workloads of the namespace",
        },
        {
          object: "AuthorizationPolicy/shop/p",
          kind: "AuthorizationPolicy",
          summary: "ALLOW, all workloads of the namespace",
        },
      ],
    });
    await assert.rejects(one(asking().handlers, "bank"), {
      code: "not-found",
      message: `there is no service ${full("web")} in bank`,
    });
  });

  it("leave out neighbours beyond 200 nodes, with their ways, and count them", async () => {
    const hosts = Array.from({ length: 210 }, (_, i) => `h${String(i).padStart(3, "0")}.example.com`);
    const objects = [virtualService("web", { hosts: ["web"], http: [{ route: hosts.map((host) => to(host)) }] })];
    const { handlers, asked } = asking({
      "xds-server /debug/service_objects": { rootNamespace: "istio-system", objects },
    });
    const found = await one(handlers);
    assert.deepEqual([found.nodes.length, found.edges.length, found.omitted], [200, 199, 11]);
    // The service, its objects, and its neighbours in requests whose URLs are no longer than allowed.
    assert.equal(asked.length, 2 + 4);
    assert.ok(asked.every((question) => question.length < 4_000));
  });

  it("are refused where xds-server does not answer", async () => {
    for (const page of ["services", "service_objects"]) {
      const { handlers } = asking({ [`xds-server /debug/${page}`]: new NoAnswer("gone") });
      await assert.rejects(one(handlers), { code: "away", message: /xds-server does not answer: gone/ }, page);
    }
    const { handlers } = asking({ "xds-server /debug/namespaces": new NoAnswer("gone") });
    await assert.rejects(async () => handlers["GET /api/v1/topology/namespaces"](requestOf()), { code: "away" });
  });
});

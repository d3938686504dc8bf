/** HTTP filters that some routes of the Gateway API ask for: sessions, and endpoint pickers of InferencePools. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Proxy } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import type { Core } from "../../app/core.ts";
import { aConfig, aMesh, aPort, apply, aRouter, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

const gateway = aConfig("KubernetesGateway", "shop", "edge", {
  gatewayClassName: "istio",
  listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
});
const front = aService("edge-istio", "shop", {
  ports: [aPort("http", 80, "HTTP")],
  labelSelectors: { app: "edge" },
  kubernetes: { type: "LoadBalancer", nodeLocal: false, targetPorts: { 80: "80" } } as never,
});
const router = aRouter("shop", { LABELS: { app: "edge", "gateway.networking.k8s.io/gateway-name": "edge" } });
const sidecar = aSidecar("shop");
const atGateway = { name: "edge" };
const inMesh = { group: "", kind: "Service", name: "web" };

const route = (rule: JsonObject, parent: JsonObject = atGateway, kind: "HTTPRoute" | "GRPCRoute" = "HTTPRoute") =>
  aConfig(kind, "shop", "r", { parentRefs: [parent], rules: [{ backendRefs: [{ name: "web", port: 80 }], ...rule }] });
const meshOf = (...routes: readonly ReturnType<typeof route>[]) =>
  aMesh(front, aService("web", "shop"), gateway, ...routes);

interface Listener {
  readonly filterChains: readonly {
    readonly filters: readonly {
      readonly typedConfig: { readonly httpFilters?: readonly { readonly name: string }[] };
    }[];
  }[];
}

function filtersOf(core: Core, proxy: Proxy, listener: string): readonly string[] {
  const found = resourceOf(core, proxy, typeUrl.listener, listener) as unknown as Listener | undefined;
  const filters = found?.filterChains.flatMap((chain) =>
    chain.filters.flatMap((one) => one.typedConfig.httpFilters ?? []),
  );
  return (filters ?? []).map(({ name }) => name.replace("envoy.filters.http.", ""));
}

interface Routes {
  readonly virtualHosts: readonly {
    readonly routes?: readonly { readonly typedPerFilterConfig?: Readonly<Record<string, JsonObject>> }[];
  }[];
}

function configOf(core: Core, filter: string): JsonObject | undefined {
  const found = resourceOf(core, router, typeUrl.route, "http.80") as unknown as Routes | undefined;
  return found?.virtualHosts[0]?.routes?.[0]?.typedPerFilterConfig?.[`envoy.filters.http.${filter}`];
}

function stateOf(core: Core): JsonObject {
  const { statefulSession } = configOf(core, "stateful_session") as unknown as {
    readonly statefulSession: { readonly sessionState: { readonly typedConfig: JsonObject } };
  };
  const { "@type": _, ...state } = statefulSession.sessionState.typedConfig;
  return state;
}

const sessions: readonly { readonly name: string; readonly session: JsonObject; readonly want: JsonObject }[] = [
  {
    name: "a cookie for as long as the client's session",
    session: { sessionName: "who", absoluteTimeout: "1h" },
    want: { cookie: { name: "who", path: "/" } },
  },
  {
    name: "a cookie that lasts",
    session: {
      sessionName: "who",
      type: "Cookie",
      absoluteTimeout: "1h30m",
      cookieConfig: { lifetimeType: "Permanent" },
    },
    want: { cookie: { name: "who", path: "/", ttl: "5400s" } },
  },
  { name: "a header", session: { sessionName: "x-who", type: "Header" }, want: { name: "x-who" } },
];

for (const { name, session, want } of sessions)
  test(`sessions are kept by ${name}`, () => {
    for (const kind of ["HTTPRoute", "GRPCRoute"] as const)
      assert.deepEqual(stateOf(meshOf(route({ sessionPersistence: session }, atGateway, kind))), want);
  });

test("sessions without a name are distinguished by their rules", () => {
  const unnamed = (name: string) => stateOf(meshOf(route({ name, sessionPersistence: { type: "Header" } })))["name"];
  assert.match(String(unnamed("a")), /^x-session-[0-9a-f]+$/);
  assert.notEqual(unnamed("a"), unnamed("b"));
});

test("a route with sessions puts the filter where it is for, and takes it away again", () => {
  const filtersAt = (core: Core) => ({
    router: filtersOf(core, router, "0.0.0.0_80").includes("stateful_session"),
    sidecar: filtersOf(core, sidecar, "0.0.0.0_80").includes("stateful_session"),
  });
  const rule = { sessionPersistence: { sessionName: "who" } };
  const core = meshOf(route({}));
  assert.deepEqual(filtersAt(core), { router: false, sidecar: false });
  apply(core, route(rule));
  assert.deepEqual(filtersAt(core), { router: true, sidecar: false });
  apply(core, route(rule, inMesh));
  assert.equal(filtersAt(core).sidecar, true);
  apply(core, route({}));
  assert.deepEqual(filtersAt(core), { router: false, sidecar: false });
});

const pool = aService("llama-ip-fc5a1047", "shop", {
  ports: [aPort("http-0", 54321, "HTTP"), aPort("http-1", 54322, "HTTP")],
  labels: {
    "internal.istio.io/service-semantics": "inferencepool",
    "istio.io/inferencepool-name": "llama",
    "istio.io/inferencepool-extension-service": "picker",
    "istio.io/inferencepool-extension-port": "9002",
    "istio.io/inferencepool-extension-failure-mode": "FailOpen",
  },
});
const toPool = route({
  backendRefs: [{ group: "inference.networking.k8s.io", kind: "InferencePool", name: "llama", port: 80 }],
});

test("a route to a pool asks its endpoint picker, which the pool's cluster follows", () => {
  const core = meshOf(toPool);
  assert.equal(configOf(core, "ext_proc"), undefined);
  apply(core, pool);
  const { overrides } = configOf(core, "ext_proc") as unknown as { readonly overrides: JsonObject };
  assert.deepEqual(overrides["grpcService"], {
    envoyGrpc: { clusterName: "outbound|9002||picker.shop.svc.cluster.local" },
  });
  assert.equal(overrides["failureModeAllow"], true);
  assert.ok(filtersOf(core, router, "0.0.0.0_80").includes("ext_proc"));
  const clusterOf = (proxy: Proxy, port: number) =>
    resourceOf(core, proxy, typeUrl.cluster, `outbound|${port}||llama-ip-fc5a1047.shop.svc.cluster.local`);
  assert.equal(clusterOf(router, 54321)?.["lbPolicy"], "CLUSTER_PROVIDED");
  assert.equal(clusterOf(sidecar, 54321)?.["loadBalancingPolicy"], undefined);
  assert.equal(clusterOf(router, 54322), undefined);
});

test("of several pools each has its own picker asked for its requests", () => {
  const second = aService("gemma-ip-3fb22a55", "shop", {
    ports: [aPort("http-0", 54321, "HTTP")],
    labels: {
      ...pool.labels,
      "istio.io/inferencepool-name": "gemma",
      "istio.io/inferencepool-extension-service": "second-picker",
    },
  });
  const ref = (name: string, weight: number) => ({
    ...{ group: "inference.networking.k8s.io", kind: "InferencePool" },
    ...{ name, weight },
  });
  const pickersOf = (...names: readonly string[]) => {
    const core = meshOf(route({ backendRefs: names.map((name, index) => ref(name, index + 1)) }));
    apply(core, pool, second);
    assert.equal(configOf(core, "ext_proc"), undefined);
    const text = JSON.stringify(resourceOf(core, router, typeUrl.route, "http.80"));
    return [...text.matchAll(/"clusterName":"outbound\|9002\|\|([^.]*)\./g)].map(([, name]) => name);
  };
  assert.deepEqual(pickersOf("llama", "gemma"), ["picker", "second-picker"]);
  assert.deepEqual(pickersOf("llama", "missing"), ["picker"]);
});

test("a pool's Service without the name of a picker is no destination of pickers", () => {
  const core = meshOf(toPool);
  const { "istio.io/inferencepool-extension-port": _, ...labels } = pool.labels;
  apply(core, { ...pool, labels });
  assert.equal(configOf(core, "ext_proc"), undefined);
});

test("routers of other Gateways have no picker", () => {
  const core = meshOf(toPool);
  const other = aRouter("shop", { LABELS: { app: "edge", "gateway.networking.k8s.io/gateway-name": "other" } });
  assert.equal(filtersOf(core, other, "0.0.0.0_80").includes("ext_proc"), false);
});

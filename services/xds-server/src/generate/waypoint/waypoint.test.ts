/** Resources that a waypoint is sent: the services that are bound to it, each with the routes and policies of its own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Config, parseNode, type Workload, workloadUid } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { parseFeatures } from "../../snapshot/features.ts";
import { aConfig, anEndpoint, aPort, apply, aService, namesOf, resourceOf } from "../../testing/mesh.ts";

const gatewayName = "gateway.networking.k8s.io/gateway-name";
const waypoint = parseNode({
  id: "waypoint~10.0.0.7~waypoint.shop~shop.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", LABELS: { [gatewayName]: "waypoint" } },
});

const gateway: Config = {
  ...aConfig("KubernetesGateway", "shop", "waypoint", {
    gatewayClassName: "istio-waypoint",
    listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }],
  }),
  status: { addresses: [{ type: "Hostname", value: "waypoint.shop.svc.cluster.local" }] },
};
const labels = { "istio.io/use-waypoint": "waypoint" };
const vips = (address: string) => ({ clusterVips: { Kubernetes: [address] } });
const web = aService("web", "shop", {
  ...{ labels, ...vips("10.96.0.1") },
  ports: [aPort("http", 80, "HTTP"), aPort("tcp", 9000, "TCP"), aPort("any", 7000, "")],
});
const cart = aService("cart", "shop", { labels, ...vips("10.96.0.2") });
const free = aService("free", "shop", vips("10.96.0.3"));

function aWaypointMesh(...configs: readonly Config[]): Core {
  return aMeshWith({}, ...configs);
}

function aMeshWith(env: Readonly<Record<string, string>>, ...configs: readonly Config[]): Core {
  const core = new Core({ features: parseFeatures({ PILOT_ENABLE_AMBIENT: "true", ...env }) });
  apply(core, gateway, web, cart, free, ...configs);
  const { namespace, hostname } = web;
  const key = { shard: "Kubernetes/Kubernetes", namespace, hostname };
  core.apply([{ type: "endpoints", op: "put", key, value: [anEndpoint("10.0.0.1", { takesHbone: true })] }]);
  return core;
}

const aWorkload: Workload = {
  ...{ kind: "Pod", name: "p", namespace: "shop", workloadName: "p", addresses: ["10.0.0.1"], labels },
  ...{
    network: "",
    locality: "",
    clusterId: "Kubernetes",
    serviceAccount: "p",
    isReady: true,
    tunnel: "hbone",
    ports: {},
  },
};

function chains(core: Core): readonly { readonly name: string; readonly filters: readonly JsonObject[] }[] {
  return (resourceOf(core, waypoint, typeUrl.listener, "main_internal")?.["filterChains"] ?? []) as never;
}

const textOf = (core: Core, chain: string) => JSON.stringify(chains(core).find(({ name }) => name === chain));
const webHttp = "inbound-vip|80|http|web.shop.svc.cluster.local";
const cartHttp = "inbound-vip|80|http|cart.shop.svc.cluster.local";

describe("a waypoint", () => {
  it("has clusters of the services that are bound to it, by port and layer", () => {
    const names = namesOf(aWaypointMesh(), waypoint, typeUrl.cluster).filter((name) => name.includes("|"));
    const ofWeb = ["80|http", "9000|tcp", "7000|tcp", "7000|http"].map((part) => `inbound-vip|${part}|${web.hostname}`);
    assert.deepEqual([...names].sort(), [cartHttp, ...ofWeb].sort());
  });

  it("races the addresses of a name where its service says so", () => {
    const core = aWaypointMesh();
    const sql = aService("sql", "shop", {
      labels,
      resolution: "dns",
      racesConnections: true,
      ports: [aPort("tcp", 1433, "TCP")],
    });
    apply(core, sql);
    const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname: sql.hostname };
    core.apply([
      { type: "endpoints", op: "put", key, value: [anEndpoint("sql.example.com", { servicePortName: "tcp" })] },
    ]);
    const cluster = resourceOf(core, waypoint, typeUrl.cluster, `inbound-vip|1433|tcp|${sql.hostname}`);
    assert.deepEqual([cluster?.["type"], cluster?.["dnsLookupFamily"]], ["LOGICAL_DNS", "ALL"]);
  });

  it("has filter chains for them, and two for workloads themselves", () => {
    const names = chains(aWaypointMesh()).map(({ name }) => name);
    assert.deepEqual(names.slice(0, 2), [cartHttp, webHttp]);
    assert.deepEqual(names.slice(-2), ["direct-tcp", "direct-http"]);
    assert.equal(names.length, 7);
  });

  it("reaches endpoints through tunnels of their own", () => {
    const assignment = JSON.stringify(resourceOf(aWaypointMesh(), waypoint, typeUrl.endpoint, webHttp));
    assert.match(assignment, /"serverListenerName":"connect_originate"/);
    assert.match(assignment, /"envoy.filters.listener.original_dst":\{"local":"10.0.0.1:8080"\}/);
  });

  it("carries out a policy for the service that it names, by who opened the tunnel", () => {
    const policy = aConfig("AuthorizationPolicy", "shop", "only", {
      targetRefs: [{ group: "", kind: "Service", name: "web" }],
      rules: [{ from: [{ source: { principals: ["cluster.local/ns/a/sa/b"] } }] }],
    });
    const selecting = aConfig("AuthorizationPolicy", "shop", "all", { rules: [] });
    const core = aWaypointMesh(policy, selecting);
    assert.match(textOf(core, webHttp), /"filterState":\{"key":"io.istio.peer_principal"/);
    assert.doesNotMatch(textOf(core, cartHttp), /"name":"envoy.filters.http.rbac"/);
  });

  it("decides on tunnels by policies that select its pods, of which those of connections count, where this is switched on", () => {
    const policies = [
      aConfig("AuthorizationPolicy", "shop", "selecting", {
        selector: { matchLabels: { [gatewayName]: "waypoint" } },
        rules: [{ from: [{ source: { principals: ["cluster.local/ns/a/sa/b"] } }] }],
      }),
      aConfig("AuthorizationPolicy", "shop", "requests", {
        action: "DENY",
        rules: [{ to: [{ operation: { methods: ["GET"] } }] }],
      }),
      aConfig("AuthorizationPolicy", "shop", "others", { selector: { matchLabels: { app: "web" } }, rules: [{}] }),
    ];
    const terminate = (env: Readonly<Record<string, string>>) =>
      JSON.stringify(resourceOf(aMeshWith(env, ...policies), waypoint, typeUrl.listener, "connect_terminate"));
    const layered = terminate({ ENABLE_LAYERED_WAYPOINT_AUTHORIZATION_POLICIES: "true" });
    assert.match(layered, /ns\[shop\]-policy\[selecting\]-rule\[0\]/);
    assert.match(layered, /ns\[shop\]-policy\[requests\]-rule\[0\]/);
    assert.doesNotMatch(layered, /others|:method/);
    assert.doesNotMatch(terminate({}), /envoy.filters.http.rbac/);
  });

  it("puts a header of the caller's address before what is within the tunnel where a rule says so", () => {
    const rule = { host: web.hostname, trafficPolicy: { proxyProtocol: { version: "V2" } } };
    const core = aWaypointMesh(aConfig("DestinationRule", "shop", "proxied", rule));
    const cluster = JSON.stringify(resourceOf(core, waypoint, typeUrl.cluster, webHttp));
    assert.match(cluster, /internal_upstream.*upstream_proxy_protocol.*raw_buffer/);
  });

  it("looks at the first bytes on every port where it stands before workloads themselves", () => {
    const inspector = (more: Config) => {
      const core = aWaypointMesh(more);
      const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", uid: "Kubernetes//Pod/shop/p" };
      core.apply([{ type: "workload", op: "put", key, value: aWorkload }]);
      const listener = resourceOf(core, waypoint, typeUrl.listener, "main_internal");
      const listenerFilters = (listener?.["listenerFilters"] ?? []) as readonly JsonObject[];
      return listenerFilters.find(({ name }) => String(name).endsWith("http_inspector"))?.["filterDisabled"];
    };
    assert.notEqual(inspector(gateway), undefined);
    assert.equal(inspector({ ...gateway, labels: { "istio.io/waypoint-for": "all" } }), undefined);
  });

  it("routes to services behind it and to others, and needs clusters of the latter only", () => {
    const route = (host: string) => ({ route: [{ destination: { host: `${host}.shop.svc.cluster.local` } }] });
    const core = aWaypointMesh(
      aConfig("VirtualService", "shop", "web", {
        hosts: [web.hostname],
        http: [{ match: [{ uri: { prefix: "/cart" } }], ...route("cart") }, route("free")],
      }),
    );
    assert.match(textOf(core, webHttp), new RegExp(`"cluster":"${cartHttp.replaceAll("|", "\\|")}"`));
    assert.match(textOf(core, webHttp), /"cluster":"outbound\|80\|\|free.shop.svc.cluster.local"/);
    const outbound = namesOf(core, waypoint, typeUrl.cluster).filter((name) => name.startsWith("outbound|"));
    assert.deepEqual(outbound, ["outbound|80||free.shop.svc.cluster.local"]);
  });

  it("has nothing before services while it is no waypoint", () => {
    const core = aWaypointMesh({ ...gateway, status: {} });
    assert.deepEqual(
      chains(core).map(({ name }) => name),
      ["direct-tcp", "direct-http"],
    );
  });
});

it("a waypoint matches the addresses of the oldest workloads first, of equally old ones by their names, and none of other waypoints", () => {
  const core = aMeshWith({}, { ...gateway, labels: { "istio.io/waypoint-for": "all" } });
  const named = (name: string, address: string, creationTimeMs?: number): Workload => ({
    ...{ ...aWorkload, name, addresses: [address] },
    ...(creationTimeMs === undefined ? {} : { creationTimeMs }),
  });
  const all = [named("a", "10.0.0.2", 9), named("d", "10.0.0.3", 5), named("c", "10.0.0.4", 5), named("z", "10.0.0.5")];
  const managed = { ...labels, "gateway.istio.io/managed": "istio.io-mesh-controller" };
  core.apply(
    [...all, { ...named("w", "10.0.0.6"), labels: managed }].map((value) => {
      const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", uid: workloadUid(value) };
      return { type: "workload", op: "put", key, value } as const;
    }),
  );
  const text = JSON.stringify(resourceOf(core, waypoint, typeUrl.listener, "main_internal"));
  const found = text.match(/10\.0\.0\.\d+(?=")/g);
  assert.deepEqual(found, ["10.0.0.5", "10.0.0.4", "10.0.0.3", "10.0.0.2"]);
});

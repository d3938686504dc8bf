/** A MeshConfig that changes while proxies are connected: they are sent what it changes for them, and nothing else. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type JsonObject, type KubeObject, type Proxy, parseNode } from "@flotilla/model";
import { bytesToJson, create, type JsonObject as ProtoJson, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { loadMesh } from "@flotilla/registry";
import { meshConfigOf } from "@flotilla/registry/config";
import { until } from "@flotilla/runtime";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { Core } from "./app/core.ts";
import { createCoreSource } from "./app/core-source.ts";
import { startTestServer, type TestServer } from "./serve/testing/test-server.ts";
import { applyOptionsOf } from "./testing/apply-options.ts";
import { put } from "./testing/mesh.ts";

interface Watched {
  readonly id: string;
  readonly app: string;
  /** The one route configuration that it asks for. */
  readonly route: string;
}

const sidecar: Watched = { id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local", app: "web", route: "80" };
const router: Watched = { id: "router~10.0.0.8~edge.shop~shop.svc.cluster.local", app: "edge", route: "http.8080" };
const wildcards = [typeUrl.cluster, typeUrl.listener, typeUrl.nameTable];

const objects: readonly KubeObject[] = [
  ...["web", "db"].map((name) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "shop" },
    spec: { clusterIP: `10.1.0.${name.length}`, selector: { app: name }, ports: [{ name: "http", port: 80 }] },
  })),
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", labels: { app: "web" } },
    spec: { serviceAccountName: "web" },
    status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "web", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80 }],
    endpoints: [
      {
        addresses: ["10.0.0.1"],
        conditions: { ready: true },
        targetRef: { kind: "Pod", name: "web", namespace: "shop" },
      },
    ],
  },
  {
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { name: "only-db", namespace: "shop" },
    spec: { rules: [{ from: [{ source: { principals: ["cluster.local/ns/shop/sa/db"] } }] }] },
  },
  {
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name: "everything", namespace: "mesh-root" },
    spec: { host: "*.local", trafficPolicy: { connectionPool: { tcp: { maxConnections: 77 } } } },
  },
  {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: "edge", namespace: "shop" },
    spec: {
      selector: { app: "edge" },
      servers: [{ port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["shop.example"] }],
    },
  },
  {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "edge", namespace: "shop" },
    spec: { hosts: ["shop.example"], gateways: ["edge"], http: [{ route: [{ destination: { host: "web" } }] }] },
  },
];

interface Watching {
  /** The types that the proxy is sent something of by a document. */
  sentBy(document: JsonObject): Promise<readonly string[]>;
  /** The resources that it has of a type. */
  text(type: string): string;
}

/** A proxy that is connected while the tests of its `describe` run. */
function watch({ id, app, route }: Watched): Watching {
  const metadata = { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", LABELS: { app } };
  const core = new Core();
  const source = createCoreSource(core);
  const stop = new AbortController();
  let server: TestServer;
  let running: Promise<void>;
  const isAsked = new Set<string>();
  let sent: string[] = [];
  let position = 0;

  const isQuiet = () =>
    server.connected.list().length === 1 &&
    server.connected.list().every(({ answeredPosition }) => answeredPosition() === position);

  async function sentBy(document: JsonObject): Promise<readonly string[]> {
    sent = [];
    const changes = put(meshConfigOf(document));
    assert.deepEqual(source.apply(changes, applyOptionsOf(changes, ++position)), []);
    await until(isQuiet, { withinMs: 30_000, what: "all to be answered" });
    return [...new Set(sent)].sort();
  }

  function text(type: string): string {
    const proxy: Proxy = parseNode({ id, metadata });
    const { byName = new Map() } = core.resources(core.subjectOf(proxy), type) ?? {};
    return JSON.stringify([...byName.values()].map(({ bytes }) => bytesToJson(type, bytes) as ProtoJson));
  }

  before(async () => {
    server = await startTestServer({ options: { source } });
    const changes = [...loadMesh(objects), ...put(meshConfigOf())];
    source.apply(changes, applyOptionsOf(changes, ++position));
    const client: XdsClient = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address: server.address }),
      node: create(NodeSchema, { id, metadata }),
      backoffMs: () => 10,
      onUpdate: ({ typeUrl: type }) => {
        sent.push(type.slice(type.lastIndexOf(".") + 1));
        // Asked once: what is asked for again is answered again.
        if (isAsked.has(type)) return;
        isAsked.add(type);
        if (type === typeUrl.cluster) client.subscribe(typeUrl.endpoint, ["outbound|80||web.shop.svc.cluster.local"]);
        if (type === typeUrl.listener) client.subscribe(typeUrl.route, [route]);
      },
    });
    for (const type of wildcards) client.subscribe(type);
    running = client.run(stop.signal);
    await until(() => sent.includes("RouteConfiguration"), { withinMs: 30_000, what: "the first answers" });
    await until(isQuiet, { withinMs: 30_000, what: "the first answers to be taken" });
  });
  after(async () => {
    stop.abort();
    await running;
    await server[Symbol.asyncDispose]();
  });
  return { sentBy, text };
}

describe("a MeshConfig that changes", () => {
  const { sentBy, text } = watch(sidecar);

  it("sends nothing when nothing of a proxy depends on what changed", async () => {
    assert.deepEqual(await sentBy({ ingressClass: "other", ingressService: "gate", dnsRefreshRate: "7s" }), []);
    assert.deepEqual(await sentBy({ discoverySelectors: [{ matchLabels: { mesh: "yes" } }] }), []);
    assert.deepEqual(await sentBy({}), []);
  });

  it("sends listeners and routes when outboundTrafficPolicy changes", async () => {
    assert.ok(!text(typeUrl.listener).includes('BlackHoleCluster","statPrefix'));
    const types = await sentBy({ outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } });
    assert.deepEqual(types, ["Listener", "RouteConfiguration"]);
    assert.deepEqual(await sentBy({}), ["Listener", "RouteConfiguration"]);
  });

  it("sends clusters, and with them their endpoints, when connectTimeout changes", async () => {
    assert.deepEqual(await sentBy({ connectTimeout: "3s" }), ["Cluster", "ClusterLoadAssignment"]);
    assert.match(text(typeUrl.cluster), /"connectTimeout":"3s"/);
    await sentBy({});
  });

  it("follows the trust domain", async () => {
    assert.ok(!text(typeUrl.listener).includes("new-td"));
    const types = await sentBy({ trustDomain: "new-td", trustDomainAliases: ["cluster.local"] });
    assert.ok(types.includes("Listener"));
    assert.ok(!types.includes("RouteConfiguration") && !types.includes("NameTable"));
    assert.match(text(typeUrl.listener), /new-td\/ns\/shop\/sa\/db/);
    await sentBy({});
    assert.ok(!text(typeUrl.listener).includes("new-td"));
  });

  it("follows the root namespace", async () => {
    assert.ok(!text(typeUrl.cluster).includes('"maxConnections":77'));
    assert.deepEqual(await sentBy({ rootNamespace: "mesh-root" }), ["Cluster", "ClusterLoadAssignment"]);
    assert.match(text(typeUrl.cluster), /"maxConnections":77/);
    await sentBy({});
    assert.ok(!text(typeUrl.cluster).includes('"maxConnections":77'));
  });
});

describe("a MeshConfig that changes, for a router", () => {
  const { sentBy, text } = watch(router);

  it("sends nothing when only sidecars depend on what changed", async () => {
    assert.match(text(typeUrl.listener), /"routeConfigName":"http.8080"/);
    assert.deepEqual(await sentBy({ outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } }), []);
    assert.deepEqual(await sentBy({}), []);
  });

  it("sends clusters, and with them their endpoints, when connectTimeout changes", async () => {
    assert.deepEqual(await sentBy({ connectTimeout: "3s" }), ["Cluster", "ClusterLoadAssignment"]);
    assert.match(text(typeUrl.cluster), /"connectTimeout":"3s"/);
    await sentBy({});
  });

  it("sends listeners alone when the trust domain changes", async () => {
    const types = await sentBy({ trustDomain: "new-td", trustDomainAliases: ["cluster.local"] });
    assert.ok(types.includes("Listener") && !types.includes("RouteConfiguration"));
    assert.match(text(typeUrl.listener), /new-td\/ns\/shop\/sa\/db/);
    await sentBy({});
    assert.ok(!text(typeUrl.listener).includes("new-td"));
  });
});

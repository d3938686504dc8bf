import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, Endpoint, Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, anEndpoint, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

const headless: Partial<Service> = {
  resolution: "passthrough",
  kubernetes: { type: "ClusterIP", nodeLocal: false, publishNotReadyAddresses: false, headless: true, targetPorts: {} },
};

/** Host names with their addresses. */
function table(
  service: Service | readonly Service[],
  endpoints: readonly Endpoint[] = [],
  metadata = {},
  mesh: JsonObject = {},
): Readonly<Record<string, unknown>> {
  const services = [service].flat();
  const core = aMesh(...services, aConfig("MeshConfig", "istio-system", "istio", mesh));
  const { namespace = "", hostname = "" } = services[0] ?? {};
  const change: Change = {
    type: "endpoints",
    op: "put",
    key: { shard: "Kubernetes/Kubernetes", namespace, hostname },
    value: endpoints,
  };
  assert.deepEqual(core.apply([change]), []);
  const found = resourceOf(core, aSidecar("shop", metadata), typeUrl.nameTable, "")?.["table"] ?? {};
  return Object.fromEntries(Object.entries(found).map(([host, { ips }]) => [host, ips]));
}

test("a service resolves to its address in the proxy's cluster", () => {
  const service = aService("a", "shop", { clusterVips: { Kubernetes: ["10.1.0.1"], other: ["10.2.0.1"] } });
  assert.deepEqual(table(service), { "a.shop.svc.cluster.local": ["10.1.0.1"] });
});

test("a headless service resolves to its ready endpoints, and each named pod to itself", () => {
  const endpoints = [
    anEndpoint("10.0.0.1", { hostname: "db-0", subdomain: "db" }),
    anEndpoint("10.0.0.2", { hostname: "db-1", subdomain: "db" }),
    anEndpoint("10.0.0.3", { health: "unhealthy" }),
    anEndpoint("10.0.0.4", { health: "draining" }),
  ];
  assert.deepEqual(table(aService("db", "shop", headless), endpoints), {
    "db.shop.svc.cluster.local": ["10.0.0.1", "10.0.0.2"],
    "db-0.db.shop.svc.cluster.local": ["10.0.0.1"],
    "db-1.db.shop.svc.cluster.local": ["10.0.0.2"],
  });
});

test("pods of other clusters have names, although their service is called within its cluster only", () => {
  const serviceSettings = [{ settings: { clusterLocal: true }, hosts: ["*"] }];
  const endpoints = [
    anEndpoint("10.0.0.1", { clusterId: "other" }),
    anEndpoint("10.0.0.2", { clusterId: "Kubernetes" }),
  ];
  assert.deepEqual(table(aService("db", "shop", headless), endpoints, {}, { serviceSettings }), {
    "db.shop.svc.cluster.local": ["10.0.0.1", "10.0.0.2"],
  });
});

test("endpoints of another network cannot be reached directly", () => {
  const endpoints = [anEndpoint("10.0.0.1", { network: "one" }), anEndpoint("10.0.0.2", { network: "two" })];
  assert.deepEqual(table(aService("db", "shop", headless), endpoints, { NETWORK: "two" }), {
    "db.shop.svc.cluster.local": ["10.0.0.2"],
  });
});

test("an allocated address is for proxies that answer DNS queries", () => {
  const service = aService("x", "shop", {
    hostname: "x.example",
    registry: "External",
    autoAllocatedIpv4: "240.240.0.1",
  });
  assert.deepEqual(table(service), {});
  assert.deepEqual(table(service, [], { DNS_CAPTURE: "true" }), { "x.example": ["240.240.0.1"] });
});

test("addresses of a pod in several slices are one name's, and a proxy without IPv4 has no headless names", () => {
  const endpoints = [
    anEndpoint("10.0.0.1", { hostname: "db-0", subdomain: "db" }),
    anEndpoint("fd00::1", { hostname: "db-0", subdomain: "db" }),
    anEndpoint("10.0.0.1", { hostname: "db-0", subdomain: "db", servicePortName: "other" }),
  ];
  const all = ["10.0.0.1", "fd00::1"];
  assert.deepEqual(table(aService("db", "shop", headless), endpoints), {
    "db.shop.svc.cluster.local": all,
    "db-0.db.shop.svc.cluster.local": all,
  });
  assert.deepEqual(table(aService("db", "shop", headless), endpoints, { INSTANCE_IPS: "fd00::9" }), {});
});

const entry = (name: string, creationTimeMs: number, addresses: readonly string[]) =>
  aService(name, "shop", {
    ...{ hostname: "x.example", registry: "External", clusterVips: {}, creationTimeMs, addresses },
    defaultAddress: addresses[0] ?? "0.0.0.0",
  });

test("a host of several ServiceEntries resolves to the addresses of all, the oldest one's first", () => {
  const all = [entry("b", 1, ["10.70.0.1"]), entry("a", 2, ["10.70.0.2", "10.70.0.1", "10.70.0.3"])];
  assert.deepEqual(table(all), { "x.example": ["10.70.0.1", "10.70.0.2", "10.70.0.3"] });
});

test("a Service has its name for itself, whatever ServiceEntries have it", () => {
  const clusterVips = { Kubernetes: ["10.96.0.1"] };
  const service = aService("x", "shop", { hostname: "x.example", creationTimeMs: 3, clusterVips });
  assert.deepEqual(table([entry("a", 1, ["10.70.0.1"]), service]), { "x.example": ["10.96.0.1"] });
});

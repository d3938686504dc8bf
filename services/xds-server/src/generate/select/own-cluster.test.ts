/** The endpoints by which a proxy compares its zone with those that it calls. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Change, type Config, type Endpoint, ownClusterName, type Proxy, parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, anEndpoint, aPort, aService, resourceOf } from "../../testing/mesh.ts";

const hash = (value: string, name = "pod-template-hash") => ({ app: "web", [name]: value });
const own: Partial<Endpoint> = { workloadName: "web", locality: "us/a/1", labels: hash("v1") };
const at = (address: string, more: Partial<Endpoint> = {}) => anEndpoint(address, { ...own, ...more });

function aProxy(metadata: Readonly<Record<string, unknown>> = {}, region = "us"): Proxy {
  return parseNode({
    id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local",
    locality: { region, zone: "a", subzone: "" },
    metadata: {
      ...{ NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", WORKLOAD_NAME: "web", LABELS: hash("v1") },
      ...metadata,
    },
  });
}

/** `web` is older than `also`; both select the proxy. */
function addresses(endpoints: readonly Endpoint[], proxy = aProxy(), ...more: readonly Config[]) {
  const ports = [aPort("admin", 90, "TCP"), aPort("http", 80, "HTTP")];
  const labelSelectors = { app: "web" };
  const kubernetes = { type: "ClusterIP", nodeLocal: false, targetPorts: { 90: "9090", 80: "8080" } } as never;
  const older = aService("web", "shop", { ports, labelSelectors, kubernetes, creationTimeMs: 1 });
  const younger = aService("also", "shop", { ports, labelSelectors, kubernetes, creationTimeMs: 2 });
  const core = aMesh(older, younger, ...more);
  const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname: older.hostname };
  const change: Change = { type: "endpoints", op: "put", key, value: endpoints };
  assert.deepEqual(core.apply([change]), []);
  const found = resourceOf(core, proxy, typeUrl.endpoint, ownClusterName);
  assert.equal(found?.["clusterName"], ownClusterName);
  const text = JSON.stringify(found["endpoints"] ?? []);
  return [...text.matchAll(/"address":"([^"]+)"/g)].map(([, address]) => address);
}

describe("endpoints of a proxy's own cluster", () => {
  const admin = { servicePortName: "admin", port: 9090 };
  const ready = [at("10.0.0.1", admin), at("10.0.0.2", { ...admin, locality: "us/b/" })];
  const cases: readonly { name: string; endpoint: Partial<Endpoint>; isSent: boolean }[] = [
    { name: "of its workload, revision and region", endpoint: {}, isSent: true },
    { name: "that are not ready", endpoint: { health: "unhealthy" }, isSent: true },
    { name: "of another port than the first", endpoint: { servicePortName: "http" }, isSent: false },
    { name: "of another workload", endpoint: { workloadName: "canary" }, isSent: false },
    { name: "of another ReplicaSet", endpoint: { labels: hash("v2") }, isSent: false },
    {
      name: "of another rollout",
      endpoint: { labels: { ...hash("v1"), ...hash("r", "rollouts-pod-template-hash") } },
      isSent: false,
    },
    { name: "of another region", endpoint: { locality: "eu/a/1" }, isSent: false },
    { name: "without a place", endpoint: { locality: "" }, isSent: false },
  ];
  for (const { name, endpoint, isSent } of cases)
    it(`${name} are ${isSent ? "" : "not "}sent`, () => {
      const found = addresses([...ready, at("10.0.0.9", { ...admin, ...endpoint })]);
      assert.deepEqual(found.toSorted(), ["10.0.0.1", "10.0.0.2", ...(isSent ? ["10.0.0.9"] : [])]);
    });

  it("do not exist for a proxy of no service, or whose Sidecar does not import its own", () => {
    assert.deepEqual(addresses(ready, aProxy({ LABELS: {} })), []);
    const sidecar = aConfig("Sidecar", "shop", "s", { egress: [{ hosts: ["./also.shop.svc.cluster.local"] }] });
    assert.deepEqual(addresses(ready, aProxy(), sidecar), []);
  });

  it("are those of the region that the proxy states where the registry does not know it", () => {
    const endpoints = [at("10.0.0.2", admin), at("10.0.0.3", { ...admin, locality: "eu/a/" })];
    assert.deepEqual(addresses(endpoints, aProxy({}, "eu")), ["10.0.0.3"]);
  });

  it("come as they are, whatever a rule states for callers", () => {
    const distribute = [{ from: "us/*", to: { "us/b/*": 100 } }];
    const trafficPolicy = { outlierDetection: {}, loadBalancer: { localityLbSetting: { distribute } } };
    const rule = aConfig("DestinationRule", "shop", "r", { host: "web", trafficPolicy });
    assert.deepEqual(addresses(ready, aProxy(), rule), ["10.0.0.1", "10.0.0.2"]);
  });
});

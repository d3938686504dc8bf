import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, clusterName, type Endpoint } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, anEndpoint, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

/** The groups of a service's assignment, as a proxy of its namespace with the rule is told of them. */
function groups(policy: JsonObject, endpoints: readonly Endpoint[]): readonly JsonObject[] {
  const service = aService("a", "shop");
  const { namespace, hostname } = service;
  const core = aMesh(service, aConfig("DestinationRule", "shop", "a", { host: hostname, trafficPolicy: policy }));
  const key = { shard: "Kubernetes/Kubernetes", namespace, hostname };
  const change: Change = { type: "endpoints", op: "put", key, value: endpoints };
  assert.deepEqual(core.apply([change]), []);
  const cluster = clusterName("outbound", 80, "", hostname);
  const found = resourceOf(core, aSidecar("shop"), typeUrl.endpoint, cluster)?.["endpoints"];
  return (found ?? []) as readonly JsonObject[];
}

test("pods and machines of one place are two groups: their localities are written differently", () => {
  const endpoints = [anEndpoint("10.0.0.1", { locality: "r1/z1/" }), anEndpoint("10.0.0.2", { locality: "r1/z1" })];
  assert.deepEqual(
    groups({}, endpoints).map(({ locality }) => locality),
    [
      { region: "r1", zone: "z1" },
      { region: "r1", zone: "z1" },
    ],
  );
});

test("with a panic threshold, endpoints that are not ready are left out", () => {
  const endpoints = [anEndpoint("10.0.0.1"), anEndpoint("10.0.0.2", { health: "unhealthy" })];
  const count = (policy: JsonObject) =>
    ((groups(policy, endpoints)[0]?.["lbEndpoints"] ?? []) as readonly unknown[]).length;
  assert.equal(count({ outlierDetection: {} }), 2);
  assert.equal(count({ outlierDetection: { minHealthPercent: 30 } }), 1);
});

test("settings for a port that say nothing of TLS leave what the rule says of it for all ports", () => {
  const portLevelSettings = [{ port: { number: 80 }, loadBalancer: { simple: "RANDOM" } }];
  const endpoints = [anEndpoint("10.0.0.1", { tlsMode: "istio" })];
  const isMarked = (policy: JsonObject) => JSON.stringify(groups(policy, endpoints)).includes('"tlsMode":"istio"');
  assert.ok(isMarked({ portLevelSettings }));
  assert.ok(!isMarked({ tls: { mode: "SIMPLE" }, portLevelSettings }));
  assert.ok(isMarked({ tls: { mode: "ISTIO_MUTUAL" }, portLevelSettings }));
});

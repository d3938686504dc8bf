import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, type Config, clusterName, type Endpoint, type Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, anEndpoint, aService, aSidecar, namesOf, resourceOf } from "../../testing/mesh.ts";

const external: Partial<Service> = { hostname: "a.example", registry: "External", resolution: "dns" };

function aRule(spec: JsonObject): Config {
  return aConfig("DestinationRule", "shop", "a", { host: "a.example", ...spec });
}

/** A mesh of one service with a rule, as a proxy of its namespace receives it. */
function clusters(service: Service, rule: Config, endpoints: readonly Endpoint[] = []) {
  const core = aMesh(service, rule);
  const { namespace, hostname } = service;
  const key = { shard: "Kubernetes/Kubernetes", namespace, hostname };
  const change: Change = { type: "endpoints", op: "put", key, value: endpoints };
  assert.deepEqual(core.apply([change]), []);
  const proxy = aSidecar("shop");
  return {
    names: namesOf(core, proxy, typeUrl.cluster).filter((name) => name.endsWith(hostname)),
    of: (subset: string) => resourceOf(core, proxy, typeUrl.cluster, clusterName("outbound", 80, subset, hostname)),
  };
}

test("unresolved names make no cluster: a subset without endpoints, a service without any", () => {
  const subsets = [
    { name: "v1", labels: { version: "v1" } },
    { name: "v2", labels: { version: "v2" } },
  ];
  const found = clusters(aService("a", "shop", external), aRule({ subsets }), [
    anEndpoint("b.example", { labels: { version: "v1" } }),
  ]);
  assert.deepEqual(found.names, ["outbound|80||a.example", "outbound|80|v1|a.example"]);
  assert.deepEqual(clusters(aService("a", "shop", external), aRule({})).names, []);
});

test("a rule's PASSTHROUGH holds for subsets too, and leaves the whole service how its names were resolved", () => {
  const found = clusters(
    aService("a", "shop", external),
    aRule({
      trafficPolicy: { loadBalancer: { simple: "PASSTHROUGH" } },
      subsets: [{ name: "v1", labels: { version: "v1" }, trafficPolicy: { loadBalancer: { simple: "RANDOM" } } }],
    }),
    [anEndpoint("b.example")],
  );
  assert.equal(found.of("")?.["type"], "ORIGINAL_DST");
  assert.equal(found.of("")?.["respectDnsTtl"], true);
  assert.equal(found.of("")?.["loadAssignment"], undefined);
  assert.equal(found.of("v1")?.["type"], "ORIGINAL_DST");
  assert.equal(found.of("v1")?.["respectDnsTtl"], undefined);
});

test("localities are weighed by rules for headless services too", () => {
  const service = aService("a", "shop", { hostname: "a.example", resolution: "passthrough" });
  const distribute = [{ from: "*", to: { "r1/*": 100 } }];
  const found = clusters(service, aRule({ trafficPolicy: { loadBalancer: { localityLbSetting: { distribute } } } }));
  assert.deepEqual(found.of("")?.["commonLbConfig"], { healthyPanicThreshold: {}, localityWeightedLbConfig: {} });
});

test("a service whose names are resolved as requests come has no subsets", () => {
  const service = aService("a", "shop", { ...external, resolution: "dynamic-dns" });
  const rule = aRule({ subsets: [{ name: "v1", labels: { version: "v1" } }] });
  assert.deepEqual(clusters(service, rule).names, ["outbound|80||a.example"]);
});

test("clusters of a service with a traffic distribution have no panic threshold, whatever their rule says of localities", () => {
  const trafficPolicy = {
    outlierDetection: { minHealthPercent: 30 },
    loadBalancer: { localityLbSetting: { distribute: [{ from: "*", to: { "r1/*": 100 } }] } },
  };
  const rule = aRule({ trafficPolicy, subsets: [{ name: "v1", labels: { version: "v1" } }] });
  const thresholdOf = (service: Service, subset: string) =>
    (clusters(service, rule).of(subset)?.["commonLbConfig"] as JsonObject | undefined)?.["healthyPanicThreshold"];
  const near = aService("a", "shop", { hostname: "a.example", trafficDistribution: "PreferSameZone" });
  assert.deepEqual([thresholdOf(near, ""), thresholdOf(near, "v1")], [{}, {}]);
  assert.deepEqual(thresholdOf(aService("a", "shop", { hostname: "a.example" }), "v1"), { value: 30 });
});

test("a subset goes by mesh TLS to wherever callers were going only if all endpoints take it and its own policy is PASSTHROUGH", () => {
  const passthrough = { loadBalancer: { simple: "PASSTHROUGH" } };
  const subsets = [
    { name: "v1", labels: {}, trafficPolicy: passthrough },
    { name: "v2", labels: {} },
  ];
  const service = aService("a", "shop", { hostname: "a.example" });
  const socketsOf = (subset: string) => {
    const found = clusters(service, aRule({ trafficPolicy: passthrough, subsets }), [anEndpoint("10.0.0.2")]).of(
      subset,
    );
    return found?.["transportSocket"] === undefined ? "plain" : "mesh TLS";
  };
  assert.deepEqual([socketsOf(""), socketsOf("v1"), socketsOf("v2")], ["plain", "plain", "mesh TLS"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aPort, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

const anyShop = (...ports: readonly ReturnType<typeof aPort>[]) =>
  aService("shops", "shop", {
    hostname: "*.shop.example",
    registry: "External",
    resolution: "dynamic-dns",
    meshExternal: true,
    ports,
  });

function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown> | undefined)?.[key], value);
}

test("a cluster and the filter before it resolve by the same cache", () => {
  const core = aMesh(anyShop(aPort("http", 80, "HTTP")));
  const cluster = resourceOf(core, aSidecar("shop"), typeUrl.cluster, "outbound|80||*.shop.example");
  const listener = resourceOf(core, aSidecar("shop"), typeUrl.listener, "0.0.0.0_80");
  const cache = at(cluster, "clusterType", "typedConfig", "dnsCacheConfig");
  assert.deepEqual(cache, { name: "*.shop.example_dfp_dns_cache", dnsLookupFamily: "V4_ONLY" });
  const filters = at(listener, "filterChains", 0, "filters", 0, "typedConfig", "httpFilters") as readonly JsonObject[];
  const filter = filters.find(({ name }) => name === "envoy.filters.http.dynamic_forward_proxy");
  assert.deepEqual(at(filter, "typedConfig", "dnsCacheConfig"), cache);
});

test("hosts of a dynamic service and hosts of none are resolved in caches of their own", () => {
  const mesh = aConfig("MeshConfig", "istio-system", "istio", {
    outboundTrafficPolicy: { mode: "ALLOW_ANY_DYNAMIC_DNS" },
  });
  const core = aMesh(anyShop(aPort("http", 80, "HTTP")), mesh);
  const listener = resourceOf(core, aSidecar("shop"), typeUrl.listener, "0.0.0.0_80");
  const filters = at(listener, "filterChains", 0, "filters", 0, "typedConfig", "httpFilters") as readonly JsonObject[];
  assert.deepEqual(
    filters
      .filter(({ name }) => name === "envoy.filters.http.dynamic_forward_proxy")
      .map((filter) => at(filter, "typedConfig", "dnsCacheConfig", "name")),
    ["*.shop.example_dfp_dns_cache", "allow_any_dfp_dns_cache"],
  );
});

const ports = [
  { name: "HTTP names its host", port: aPort("http", 80, "HTTP"), hasCluster: true },
  { name: "a TLS handshake names its server", port: aPort("tls", 443, "TLS"), hasCluster: true },
  { name: "TCP names no host", port: aPort("tcp", 3306, "TCP"), hasCluster: false },
  { name: "HTTPS is left to passthrough", port: aPort("https", 443, "HTTPS"), hasCluster: false },
];

for (const { name, port, hasCluster } of ports) {
  test(`ports of a dynamic service: ${name}`, () => {
    const core = aMesh(anyShop(port));
    const cluster = resourceOf(core, aSidecar("shop"), typeUrl.cluster, `outbound|${port.number}||*.shop.example`);
    assert.equal(cluster !== undefined, hasCluster);
  });
}

test("a rule that verifies nothing says so to Envoy, which would refuse the cluster otherwise", () => {
  const rule = aConfig("DestinationRule", "shop", "shops", {
    host: "*.shop.example",
    trafficPolicy: { tls: { mode: "SIMPLE", insecureSkipVerify: true } },
  });
  const core = aMesh(anyShop(aPort("tls", 443, "TLS")), rule);
  const cluster = resourceOf(core, aSidecar("shop"), typeUrl.cluster, "outbound|443||*.shop.example");
  assert.equal(at(cluster, "clusterType", "typedConfig", "allowInsecureClusterOptions"), true);
});

test("the server is looked up after the statistics have begun", () => {
  const telemetry = aConfig("Telemetry", "shop", "t", { metrics: [{ providers: [{ name: "prometheus" }] }] });
  const core = aMesh(anyShop(aPort("tls", 443, "TLS")), telemetry);
  const listener = resourceOf(core, aSidecar("shop"), typeUrl.listener, "0.0.0.0_443");
  const filters = at(listener, "filterChains", 0, "filters") as readonly JsonObject[];
  assert.deepEqual(
    filters.map(({ name }) => name),
    ["istio.stats", "envoy.extensions.filters.network.sni_dynamic_forward_proxy", "envoy.filters.network.tcp_proxy"],
  );
});

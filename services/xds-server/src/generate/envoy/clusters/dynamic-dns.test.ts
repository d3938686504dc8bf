/** The cluster of unknown hosts. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { decode } from "@flotilla/proto";
import { ClusterConfigSchema } from "@flotilla/proto/envoy/extensions/clusters/dynamic_forward_proxy/v3/cluster_pb";
import { buildUnknownHosts, dynamicDiscovery } from "./dynamic-dns.ts";

const cache = { hostname: "", ipMode: "ipv4", resolver: "" } as const;
const inputs = {
  ...{ cache, connectTimeout: undefined, keepalive: undefined },
  ...{ exchangesMetadata: false, tracksRemaining: false, exchangedLabels: [] },
};

it("unknown hosts are resolved at their first request", () => {
  const cluster = buildUnknownHosts(inputs);
  assert.equal(cluster.name, "AllowAnyDynamicDNSCluster");
  assert.equal(cluster.altStatName, "AllowAnyDynamicDNSCluster;");
  assert.equal(cluster.connectTimeout?.seconds, 10n);
  assert.ok(cluster.clusterDiscoveryType.case === "clusterType");
  assert.equal(cluster.clusterDiscoveryType.value.name, "envoy.clusters.dynamic_forward_proxy");
  assert.deepEqual(cluster.filters, []);
});

it("with the mesh's time-out, and metadata where they are exchanged", () => {
  const connectTimeout = { seconds: 3n, nanos: 0 } as NonNullable<
    Parameters<typeof buildUnknownHosts>[0]["connectTimeout"]
  >;
  const cluster = buildUnknownHosts({ ...inputs, connectTimeout, exchangesMetadata: true });
  assert.equal(cluster.connectTimeout?.seconds, 3n);
  assert.equal(cluster.filters.length, 1);
});

it("certificates need not fit the name only where that is said", () => {
  const allows = (isUnchecked: boolean) => {
    const { value } = dynamicDiscovery(cache, isUnchecked).clusterDiscoveryType;
    return decode(ClusterConfigSchema, value.typedConfig.value).allowInsecureClusterOptions;
  };
  assert.deepEqual([allows(true), allows(false)], [true, false]);
});

/** Resolution of names by Envoy: families, refresh, jitter and the resolver's sockets. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Cluster_DnsLookupFamily as Family } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { type ResolutionInputs, resolution } from "./dns-discovery.ts";

const inputs: ResolutionInputs = {
  ...{ ipMode: "ipv4", refreshRate: undefined, traits: { udpMaxQueries: 100, dnsJitterNanos: 0n } },
};

describe("names of a cluster", () => {
  it("are resolved each minute to addresses of the proxy's family, and as their answers state", () => {
    const { dnsLookupFamily, dnsRefreshRate, respectDnsTtl, typedDnsResolverConfig, dnsJitter, ...more } =
      resolution(inputs);
    assert.deepEqual(
      [dnsLookupFamily, dnsRefreshRate, respectDnsTtl],
      [Family.V4_ONLY, { seconds: 60n, nanos: 0 }, true],
    );
    assert.equal(typedDnsResolverConfig.name, "envoy.network.dns_resolver.cares");
    assert.deepEqual([dnsJitter, more], [{ seconds: 0n, nanos: 0 }, {}]);
    assert.equal(resolution({ ...inputs, ipMode: "ipv6" }).dnsLookupFamily, Family.V6_ONLY);
  });
  it("are resolved as often as the mesh has it", () => {
    const refreshRate = { seconds: 5n, nanos: 0 } as NonNullable<ResolutionInputs["refreshRate"]>;
    assert.deepEqual(resolution({ ...inputs, refreshRate }).dnsRefreshRate, refreshRate);
  });
  it("are resolved at moments of their own with a jitter", () => {
    const { dnsJitter } = resolution({ ...inputs, traits: { udpMaxQueries: 0, dnsJitterNanos: 1_500_000_000n } });
    assert.deepEqual(dnsJitter, { seconds: 1n, nanos: 500_000_000 });
  });
});

/** The cache of names that are resolved as they are asked for: its name, families, bound and resolver. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DnsCache, dnsCacheConfig, lookupFamilies } from "./dns-cache.ts";

const cache = (more: Partial<DnsCache> = {}) =>
  dnsCacheConfig({ hostname: "*.example", ipMode: "ipv4", resolver: "", ...more });

describe("a cache of names", () => {
  it("is named after its host, or after any", () => {
    assert.equal(cache().name, "*.example_dfp_dns_cache");
    assert.equal(cache({ hostname: "" }).name, "allow_any_dfp_dns_cache");
  });
  it("asks for the families that the proxy has", () => {
    for (const ipMode of ["ipv4", "ipv6", "dual"] as const)
      assert.equal(cache({ ipMode }).dnsLookupFamily, lookupFamilies[ipMode]);
  });
  it("has a bound where one is given, and a resolver of the agent", () => {
    assert.deepEqual([cache().maxHosts, cache().typedDnsResolverConfig], [undefined, undefined]);
    const agents = cache({ maxHosts: 7, resolver: "[::1]:15053" });
    assert.equal(agents.maxHosts, 7);
    assert.equal(agents.typedDnsResolverConfig?.name, "envoy.network.dns_resolver.cares");
  });
});

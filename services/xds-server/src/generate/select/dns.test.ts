/** Resolution of names of no service: by the agent where it captures DNS, to addresses that the proxy can reach. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Features } from "../../snapshot/features.ts";
import { query } from "../../snapshot/view.ts";
import { aSidecar } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { resolvedFamilies, unknownHostsDnsCache, usedFamilies } from "./dns.ts";

const families = query("families-of-test", (view) => `${usedFamilies(view)} ${resolvedFamilies(view)}`);

function read(metadata: Readonly<Record<string, unknown>>, features: Partial<Features> = {}) {
  const snapshot = snapshotOf({ changes: [], proxy: aSidecar("shop", metadata), features });
  return { cache: snapshot.read(unknownHostsDnsCache), families: snapshot.read(families) };
}

describe("names of no service", () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ["are resolved by the proxy", {}, ""],
    ["are resolved by the agent that captures DNS", { DNS_CAPTURE: "true" }, "127.0.0.1:15053"],
    ["are resolved at the agent's address", { DNS_CAPTURE: "true", DNS_PROXY_ADDR: "127.0.0.2:53" }, "127.0.0.2:53"],
    [
      "are not resolved at an address without a port",
      { DNS_CAPTURE: "true", DNS_PROXY_ADDR: "agent" },
      "127.0.0.1:15053",
    ],
    [
      "are not resolved at an address without a host",
      { DNS_CAPTURE: "true", DNS_PROXY_ADDR: ":53" },
      "127.0.0.1:15053",
    ],
    ["are resolved by the proxy, wherever an agent is that captures nothing", { DNS_PROXY_ADDR: "127.0.0.2:53" }, ""],
  ];
  for (const [name, metadata, resolver] of cases) it(name, () => assert.equal(read(metadata).cache.resolver, resolver));
});

describe("the families of a proxy", () => {
  const ips = (text: string) => ({ INSTANCE_IPS: text });
  const cases: readonly (readonly [string, string, Partial<Features>, string])[] = [
    ["of IPv4", "10.0.0.1", {}, "ipv4 ipv4"],
    ["of both are one without dual stack", "10.0.0.1,2001:db8::1", { dualStack: false }, "ipv4 ipv4"],
    ["of both", "10.0.0.1,2001:db8::1", { dualStack: true }, "dual dual"],
    ["of IPv6", "2001:db8::1", { ipv4OutboundOfIpv6: false }, "ipv6 ipv6"],
    ["of IPv6 that reaches IPv4", "2001:db8::1", { ipv4OutboundOfIpv6: true, dualStack: true }, "ipv6 dual"],
  ];
  for (const [name, text, features, is] of cases) it(name, () => assert.equal(read(ips(text), features).families, is));
});

/** Chains of a waypoint's connections: by the host that a tunnel is for, by the address of a service, and by its port. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, toJson } from "@flotilla/proto";
import { type Matcher, MatcherSchema } from "@flotilla/proto/xds/type/matcher/v3/matcher_pb";
import { aPort } from "../../../testing/mesh.ts";
import { authorityMatcher, type MatchedService, vipMatcher } from "./vip-matcher.ts";

const json = (matcher: Matcher) => toJson(MatcherSchema, matcher) as JsonObject;
const at = (value: unknown, path: string): unknown =>
  path.split("/").reduce((found, key) => (found as Readonly<Record<string, unknown>> | undefined)?.[key], value);

const web: MatchedService = {
  ...{ hostname: "web.shop", vips: ["10.0.0.1", "2001:db8::1", "10.1.0.0/16"] },
  ports: [aPort("http", 80, "HTTP"), aPort("tcp", 9000, "TCP"), aPort("any", 7000, ""), aPort("udp", 53, "UDP")],
};
const datagrams: MatchedService = { hostname: "dns.shop", vips: ["10.0.0.2"], ports: [aPort("udp", 53, "UDP")] };

/** `PORT → CHAIN`, or the chains by the first bytes. */
function chainsOf(map: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries((map ?? {}) as Readonly<Record<string, unknown>>);
  return Object.fromEntries(
    entries.map(([key, onMatch]) => {
      const chain = at(onMatch, "action/name");
      if (typeof chain === "string") return [key, chain];
      const matcher = at(onMatch, "matcher");
      const http = ["'h2c'", "'http/1.1'"].map(
        (name) => at(matcher, `matcherTree/exactMatchMap/map`) && byName(matcher, name),
      );
      return [key, `${http.join(" ")} else ${at(matcher, "onNoMatch/action/name")}`];
    }),
  );
}
function byName(matcher: unknown, name: string): unknown {
  const map = at(matcher, "matcherTree/exactMatchMap/map") as Readonly<Record<string, unknown>>;
  return at(map[name], "action/name");
}

const rangesOf = (matcher: Matcher) =>
  (at(json(matcher), "matcherTree/customMatch/typedConfig/rangeMatchers") ?? []) as readonly JsonObject[];
const vip = (port: number, layer: string) => `inbound-vip|${port}|${layer}|web.shop`;

describe("connections to the address of a service", () => {
  const [range, ...more] = rangesOf(vipMatcher([web, datagrams], []));
  it("are those to its addresses of either family, and to its ranges", () => {
    assert.deepEqual(more, [], "a service of datagrams alone has none");
    assert.deepEqual(range?.["ranges"], [
      { addressPrefix: "10.0.0.1", prefixLen: 32 },
      { addressPrefix: "2001:db8::1", prefixLen: 128 },
      { addressPrefix: "10.1.0.0", prefixLen: 16 },
    ]);
  });
  it("go to the chain of their port and its layer, by the first bytes where the layer is not known", () =>
    assert.deepEqual(chainsOf(at(range, "onMatch/matcher/matcherTree/exactMatchMap/map")), {
      7000: `${vip(7000, "http")} ${vip(7000, "http")} else ${vip(7000, "tcp")}`,
      80: vip(80, "http"),
      9000: vip(9000, "tcp"),
    }));
  it("to workloads themselves go by the first bytes", () => {
    const [direct, ...others] = rangesOf(vipMatcher([], [{ address: "10.0.0.8" }, { address: "2001:db8::8" }]));
    assert.deepEqual(others, []);
    assert.deepEqual(direct?.["ranges"], [
      { addressPrefix: "10.0.0.8", prefixLen: 32 },
      { addressPrefix: "2001:db8::8", prefixLen: 128 },
    ]);
    assert.deepEqual(chainsOf({ any: direct["onMatch"] }), { any: "direct-http direct-http else direct-tcp" });
  });
});

describe("connections for the host of a tunnel", () => {
  const byAddress = vipMatcher([web], []);
  it("go to the chain of host and port, and by address for other hosts", () => {
    const matcher = json(authorityMatcher([web], byAddress));
    assert.deepEqual(Object.keys(chainsOf(at(matcher, "matcherTree/exactMatchMap/map"))).sort(), [
      ...["web.shop:7000", "web.shop:80", "web.shop:9000"],
    ]);
    assert.deepEqual(at(matcher, "onNoMatch/matcher"), json(byAddress));
  });
  it("go by address alone where no service has a port of connections", () =>
    assert.equal(authorityMatcher([datagrams], byAddress), byAddress));
});

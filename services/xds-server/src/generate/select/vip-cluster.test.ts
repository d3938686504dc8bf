/** Names of a waypoint's clusters, in both directions. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { layersOf, parseVipCluster, type VipCluster, vipClusterName } from "./vip-cluster.ts";

const cases: readonly (readonly [VipCluster, string])[] = [
  [{ port: 80, layer: "http", subset: "", hostname: "a.b" }, "inbound-vip|80|http|a.b"],
  [{ port: 9000, layer: "tcp", subset: "v1", hostname: "a.b" }, "inbound-vip|9000|tcp/v1|a.b"],
  [{ port: 80, layer: "http", subset: "a/b", hostname: "*.b" }, "inbound-vip|80|http/a/b|*.b"],
];

describe("the name of a waypoint's cluster", () => {
  for (const [parts, name] of cases)
    it(`is ${name}`, () => {
      assert.equal(vipClusterName(parts), name);
      assert.deepEqual(parseVipCluster(name), parts);
    });
  for (const name of [
    "outbound|80|http|a.b",
    "inbound-vip|80|grpc|a.b",
    "inbound-vip|80||a.b",
    "inbound-vip|x|tcp|a.b",
  ])
    it(`is not ${name}`, () => assert.equal(parseVipCluster(name), undefined));
});

describe("protocols of a port", () => {
  it("follows from its protocol, and is both where it has none", () => {
    const protocols = ["HTTP", "GRPC", "TCP", "HTTPS", "UDP", "Unsupported"] as const;
    assert.deepEqual(protocols.map(layersOf), [["http"], ["http"], ["tcp"], ["tcp"], [], ["tcp", "http"]]);
  });
});

/** Filters of a chain that carries bytes, by protocol. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Protocol } from "@flotilla/model";
import { decode } from "@flotilla/proto";
import { TcpProxySchema } from "@flotilla/proto/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb";
import { protocolProxy, type TcpProxyInputs, tcpProxy } from "./network-filters.ts";

const tcp: TcpProxyInputs = { statPrefix: "p", clusters: "c" };
const all = { mongo: true, mysql: true, redis: true };
const none = { mongo: false, mysql: false, redis: false };
const namesOf = (protocol: Protocol, choice = all, inputs = tcp) =>
  protocolProxy(protocol, choice, inputs).map(({ name }) => name.split(".").at(-1));

const cases: readonly (readonly [Protocol, readonly string[]])[] = [
  ["TCP", ["tcp_proxy"]],
  ["Mongo", ["mongo_proxy", "tcp_proxy"]],
  ["MySQL", ["mysql_proxy", "tcp_proxy"]],
  ["Redis", ["redis_proxy"]],
];

describe("filters of a protocol", () => {
  for (const [protocol, names] of cases) {
    it(`${protocol}: ${names.join(", ")}`, () => assert.deepEqual(namesOf(protocol), names));
    it(`${protocol}, where none is asked for, is passed on`, () =>
      assert.deepEqual(namesOf(protocol, none), ["tcp_proxy"]));
  }
  it("Redis of several clusters is passed on", () => {
    const clusters = [
      { name: "a", weight: 1 },
      { name: "b", weight: 2 },
    ];
    assert.deepEqual(namesOf("Redis", all, { ...tcp, clusters }), ["tcp_proxy"]);
  });
});

describe("the TCP proxy", () => {
  const messageOf = (inputs: TcpProxyInputs) => {
    const { configType } = tcpProxy(inputs);
    assert.ok(configType.case === "typedConfig");
    return decode(TcpProxySchema, configType.value.value);
  };

  it("leads to one cluster, with Envoy's defaults", () => {
    const message = messageOf(tcp);
    assert.deepEqual(message.clusterSpecifier, { case: "cluster", value: "c" });
    assert.equal(message.idleTimeout, undefined);
    assert.equal(message.maxDownstreamConnectionDuration, undefined);
    assert.deepEqual(message.hashPolicy, []);
    assert.equal(message.tunnelingConfig, undefined);
  });
  it("leads to several by weight, with what is asked for", () => {
    const message = messageOf({
      statPrefix: "p",
      clusters: [{ name: "a", weight: 3 }],
      ...{ idleTimeout: "5s", maxDuration: "60s", hashSourceIp: true },
      tunnel: { target: "proxy:80", usePost: true },
    });
    assert.ok(message.clusterSpecifier.case === "weightedClusters");
    const { clusters } = message.clusterSpecifier.value;
    assert.deepEqual(
      clusters.map(({ name, weight }) => [name, weight]),
      [["a", 3]],
    );
    assert.deepEqual([message.idleTimeout?.seconds, message.maxDownstreamConnectionDuration?.seconds], [5n, 60n]);
    assert.deepEqual(
      message.hashPolicy.map(({ policySpecifier }) => policySpecifier.case),
      ["sourceIp"],
    );
    assert.deepEqual([message.tunnelingConfig?.hostname, message.tunnelingConfig?.usePost], ["proxy:80", true]);
  });
});

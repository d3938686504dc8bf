/** Labels by place, identities and networks that endpoints of every origin get. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type EndpointContext,
  endpointNetwork,
  hboneTrait,
  localityOfLabel,
  type MeshNetworksSpec,
  networkLookup,
  placedLabels,
  spiffeId,
  unknownWorkload,
} from "./endpoint-traits.ts";

const label = "topology.istio.io/network";

describe("the labels of an endpoint", () => {
  const all = { clusterId: "c", locality: "r/z/s", network: "n", nodeName: "node" };
  it("have its place, and what is not known adds none", () => {
    assert.deepEqual(placedLabels({ app: "a" }, all), {
      ...{ app: "a", "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z" },
      ...{ "topology.istio.io/subzone": "s", "topology.istio.io/cluster": "c" },
      ...{ "kubernetes.io/hostname": "node", [label]: "n" },
    });
    assert.deepEqual(placedLabels({ app: "a" }, { clusterId: "", locality: "", network: "" }), { app: "a" });
  });
  it("keep a network of their own, unless it is empty", () => {
    assert.equal(placedLabels({ [label]: "own" }, all)[label], "own");
    assert.equal(placedLabels({ [label]: "" }, all)[label], "n");
  });
  it("mark those that take HBONE", () => {
    const tunnel = { "networking.istio.io/tunnel": "http" };
    const captured = { "ambient.istio.io/redirection": "enabled" };
    assert.deepEqual(hboneTrait(tunnel, {}), { takesHbone: true });
    assert.deepEqual(hboneTrait({}, captured), { takesHbone: true });
    assert.deepEqual(hboneTrait(captured, tunnel), {});
    assert.deepEqual(hboneTrait({ "networking.istio.io/tunnel": "none" }, { "ambient.istio.io/redirection": "x" }), {});
  });
  for (const [value, locality] of [
    [undefined, ""],
    ["r.z.s", "r/z/s"],
    ["r/z.1/s", "r/z.1/s"],
  ] as const)
    it(`name the locality ${JSON.stringify(locality)} by ${value}`, () =>
      assert.equal(localityOfLabel(value), locality));
});

describe("the identity of a workload", () => {
  it("is its SPIFFE id, in whose trust domain no @ may stand", () =>
    assert.equal(spiffeId("a@b@c", "shop", "web"), "spiffe://a.b.c/ns/shop/sa/web"));
});

describe("the network of an address", () => {
  const networks = (spec: MeshNetworksSpec["networks"]) => networkLookup({ networks: spec ?? {} }, "c");
  const ranges = networks({
    wide: { endpoints: [{ fromCidr: "10.0.0.0/8" }, { fromCidr: "fd00::/16" }] },
    narrow: { endpoints: [{ fromCidr: "10.1.2.0/24" }] },
    middle: { endpoints: [{ fromCidr: "10.1.0.0/16" }, { fromRegistry: "other" }] },
    none: {},
    wrong: { endpoints: [{ fromCidr: "x/8" }, { fromCidr: "10.1.2.4" }] },
    host: { endpoints: [{ fromCidr: "10.1.2.3/32" }] },
  });
  const cases: readonly (readonly [address: string, network: string])[] = [
    ["10.1.2.3", "host"],
    ["10.1.2.4", "narrow"],
    ["10.1.3.1", "middle"],
    ["10.2.0.1", "wide"],
    ["11.0.0.1", ""],
    ["fd00::1", "wide"],
    ["fd01::1", ""],
    ["::ffff", ""],
    ["a.example", ""],
  ];
  for (const [address, network] of cases)
    it(`is that of the narrowest range: ${address} of ${JSON.stringify(network)}`, () =>
      assert.equal(ranges(address), network));

  it("is that of the whole registry, whatever its range", () => {
    const found = networks({
      ofRange: { endpoints: [{ fromCidr: "10.0.0.0/8" }] },
      ofRegistry: { endpoints: [{ fromRegistry: "c" }] },
    });
    assert.equal(found("10.0.0.1"), "ofRegistry");
  });

  it("is none without networks", () => {
    assert.equal(networkLookup(undefined, "c")("10.0.0.1"), "");
    assert.equal(networks({})("10.0.0.1"), "");
  });

  const context = (systemNetwork: string): EndpointContext => ({
    ...{ clusterId: "c", trustDomain: "td", dualStack: false, persistentSessionLabel: "", systemNetwork },
    ...{ networkOf: (address) => `by ${address}`, nodeOf: () => undefined },
  });
  it("is that of its label, else of the control plane's namespace, else of MeshNetworks", () => {
    assert.equal(endpointNetwork("a", { [label]: "own" }, context("system")), "own");
    assert.equal(endpointNetwork("a", { [label]: "" }, context("system")), "system");
    assert.equal(endpointNetwork("a", {}, context("")), "by a");
  });
  it("and its cluster are all that is known of an address without a pod", () =>
    assert.deepEqual(unknownWorkload("10.0.0.1", context("")), {
      labels: { "topology.istio.io/cluster": "c", [label]: "by 10.0.0.1" },
      ...{ serviceAccount: "", network: "by 10.0.0.1", locality: "", clusterId: "c", tlsMode: "disabled" },
      ...{ namespace: "", workloadName: "" },
    }));
});

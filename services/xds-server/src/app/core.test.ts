/** The core by itself: changes in, resources out, observed results, explanations. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Proxy } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { aConfig, aMesh, aPort, apply, aRouter, aService, aSidecar, namesOf, put } from "../testing/mesh.ts";
import { Core } from "./core.ts";

const cluster = (name: string) => `outbound|80||${name}.shop.svc.cluster.local`;
const aZtunnel: Proxy = { ...aSidecar("shop"), type: "ztunnel" };
const noop = () => undefined;

describe("types that are served", () => {
  const cases: readonly (readonly [
    name: string,
    proxy: Proxy,
    type: string,
    want: "wildcard" | "named" | undefined,
  ])[] = [
    ["clusters of a sidecar, all of them", aSidecar("shop"), typeUrl.cluster, "wildcard"],
    ["listeners of a sidecar, all of them", aSidecar("shop"), typeUrl.listener, "wildcard"],
    ["endpoints by the names of clusters", aSidecar("shop"), typeUrl.endpoint, "named"],
    ["routes by the names in listeners", aRouter("shop"), typeUrl.route, "named"],
    ["clusters are not served to ztunnels", aZtunnel, typeUrl.cluster, undefined],
    ["an unknown type is not served", aSidecar("shop"), "type.googleapis.com/x.Y", undefined],
  ];
  for (const [name, proxy, type, want] of cases)
    it(name, () => {
      const core = new Core();
      const subject = core.subjectOf(proxy);
      assert.equal(core.serves(subject, type), want);
      assert.equal(core.resources(subject, type, nameSet([])) === undefined, want === undefined);
    });
});

describe("changes of the core", () => {
  it("take effect at once, and removed objects leave", () => {
    const core = aMesh(aService("a", "shop"));
    apply(core, aService("b", "shop"));
    const sidecar = aSidecar("shop");
    const services = () => namesOf(core, sidecar, typeUrl.cluster).filter((name) => name.startsWith("outbound|"));
    assert.deepEqual(services(), [cluster("a"), cluster("b")]);
    const [change] = put(aService("a", "shop"));
    if (change?.type !== "service") throw new Error("a change of a service");
    core.apply([{ type: "service", op: "delete", key: change.key }]);
    assert.deepEqual(services(), [cluster("b")]);
  });

  it("that cannot be decoded are refused alone, by their key", () => {
    const core = new Core();
    const wrong = aConfig("VirtualService", "shop", "wrong", { hosts: 7 });
    const refused = core.apply(put(wrong, aService("a", "shop")));
    assert.deepEqual(
      refused.map(({ change }) => change.key),
      [wrong.key],
    );
    assert.ok(namesOf(core, aSidecar("shop"), typeUrl.cluster).includes(cluster("a")));
  });

  it("of MeshConfig replace the defaults", () => {
    const core = new Core();
    assert.equal(core.mesh.trustDomain, "cluster.local");
    apply(core, aConfig("MeshConfig", "istio-system", "istio", { trustDomain: "td" }));
    assert.equal(core.mesh.trustDomain, "td");
  });
});

describe("observed resources", () => {
  it("are the identical set for proxies with equal views", () => {
    const core = aMesh(aService("a", "shop"));
    const observe = () => core.observe(core.subjectOf(aSidecar("shop")), typeUrl.cluster, undefined, noop);
    const [one, other] = [observe(), observe()];
    assert.ok(one !== undefined);
    assert.equal(one.value, other?.value);
    assert.equal(one.identity, other?.identity);
  });

  it("become stale by a change that concerns them, and by no other", () => {
    const core = aMesh(aService("a", "shop"));
    let stale = 0;
    const names = nameSet([cluster("a")]);
    const endpoints = core.observe(core.subjectOf(aSidecar("shop")), typeUrl.endpoint, names, () => stale++);
    assert.deepEqual([...(endpoints?.value.byName.keys() ?? [])], [cluster("a")]);
    apply(
      core,
      aConfig("VirtualService", "shop", "b", { hosts: ["b"], http: [{ route: [{ destination: { host: "a" } }] }] }),
    );
    assert.equal(stale, 0);
    apply(core, aService("a", "shop", { resolution: "dns" }));
    assert.equal(stale, 1);
  });

  it("are not kept after their release", () => {
    const core = aMesh(aService("a", "shop"));
    const { results } = core.stats();
    const held = core.observe(core.subjectOf(aSidecar("shop")), typeUrl.cluster, undefined, noop);
    held?.release();
    assert.equal(core.stats().results, results);
  });
});

describe("explanations of a resource", () => {
  const rule = aConfig("DestinationRule", "shop", "a", { host: "a", trafficPolicy: { tls: { mode: "SIMPLE" } } });

  it("list the objects that it was made of", () => {
    const core = aMesh(aService("a", "shop"), rule);
    const inputs = core.explain(core.subjectOf(aSidecar("shop")), typeUrl.cluster, cluster("a"));
    const objects = inputs.flatMap((input) => core.objectsOf(input)).map((object) => JSON.stringify(object));
    assert.ok(objects.some((text) => text.includes("DestinationRule")));
  });

  it("are empty for unknown types", () => {
    const core = aMesh(aService("a", "shop"));
    assert.deepEqual(core.explain(core.subjectOf(aSidecar("shop")), "type.googleapis.com/x.Y", "a"), []);
    assert.equal(core.resource(core.subjectOf(aSidecar("shop")), "type.googleapis.com/x.Y", "a"), undefined);
  });

  it("from an object lead to the watched results that it has a part in", () => {
    const core = aMesh(aService("a", "shop"), rule);
    const clusters = core.observe(core.subjectOf(aSidecar("shop")), typeUrl.cluster, undefined, noop);
    const found = core.resultsFrom(rule.key)?.some((set) => clusters !== undefined && set.has(clusters.identity));
    assert.equal(found, true);
    const other = aConfig("DestinationRule", "other", "x", { host: "x.example" });
    assert.equal(core.resultsFrom(other.key)?.some((set) => set.size > 0) ?? false, false);
  });
});

describe("objects that a resource was made from", () => {
  const entry = (name: string, more: object = {}) =>
    aService(name, "shop", { registry: "External", definedBy: `ServiceEntry/shop/${name}`, ...more });
  const originsOf = (core: Core, type: string, name: string) =>
    core
      .explain(core.subjectOf(aSidecar("shop")), type, name)
      .flatMap((input) => core.objectsOf(input))
      .flatMap(({ object }) => (object.startsWith("ServiceEntry/") ? [object] : []));

  it("of a cluster and its endpoints are those of its own service, whatever others are in scope", () => {
    const core = aMesh(entry("a"), entry("b"), entry("c"));
    for (const type of [typeUrl.cluster, typeUrl.endpoint])
      assert.deepEqual([...new Set(originsOf(core, type, cluster("b")))], ["ServiceEntry/shop/b"], type);
  });

  it("of endpoints are gateways of networks, too", () => {
    const labels = { "topology.istio.io/network": "far" };
    const clusterExternalAddresses = { Kubernetes: ["203.0.113.1"] };
    const core = aMesh(
      entry("a"),
      entry("b"),
      entry("edge", { labels, clusterExternalAddresses, ports: [aPort("tls", 15443, "TLS")] }),
    );
    assert.deepEqual(originsOf(core, typeUrl.endpoint, cluster("b")).sort(), [
      "ServiceEntry/shop/b",
      "ServiceEntry/shop/edge",
    ]);
  });

  it("of routes are the services behind them, with other names of these", () => {
    const alias = aService("old", "shop", {
      ...{ resolution: "alias", definedBy: "ServiceEntry/shop/old" },
      kubernetes: { externalName: "a.shop.svc.cluster.local" } as never,
    });
    const core = aMesh(entry("a"), alias);
    const name = String(aService("a", "shop").ports[0]?.number);
    assert.deepEqual(originsOf(core, typeUrl.route, name).sort(), ["ServiceEntry/shop/a", "ServiceEntry/shop/old"]);
  });
});

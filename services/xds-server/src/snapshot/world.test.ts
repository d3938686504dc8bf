/** Changes → inputs of the graph: what a change sets, what it leaves, and in which order lists stand. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Graph } from "@flotilla/incremental";
import type { Change, Config, Endpoint, Service } from "@flotilla/model";
import { aConfig, anEndpoint, aService, put } from "../testing/mesh.ts";
import { decodeSpec } from "./config-specs.ts";
import { rowIndexes } from "./indexes/index.ts";
import { keys } from "./row-index.ts";
import type { Subject } from "./subject.ts";
import { World } from "./world.ts";

function aWorld(...batches: readonly (readonly Change[])[]) {
  const graph = new Graph<Subject>();
  const world = new World(graph, { indexes: rowIndexes, decode: decodeSpec });
  const refused = batches.flatMap((changes) => world.apply(changes));
  return { graph, world, refused };
}

const inShard = (shard: string, service: Service): Change =>
  put(service).map((change) => ({ ...change, key: { ...change.key, shard } }) as Change)[0] as Change;
const removed = (change: Change) => ({ type: change.type, op: "delete", key: change.key }) as Change;
const endpoints = (shard: string, hostname: string, ...value: readonly Endpoint[]): Change =>
  ({ type: "endpoints", op: "put", key: { shard, namespace: "shop", hostname, name: hostname }, value }) as Change;
const rule = (name: string, host: string, trafficPolicy = {}): Config =>
  aConfig("DestinationRule", "shop", name, { host, trafficPolicy });
const host = "a.shop.svc.cluster.local";
const name = { namespace: "shop", hostname: host };

describe("services of the world", () => {
  it("stand by shard, in the order of their shards", () => {
    const service = aService("a", "shop");
    const { graph } = aWorld([inShard("Kubernetes/two", service), inShard("Kubernetes/one", service)]);
    assert.deepEqual([...(graph.get(keys.service(name))?.keys() ?? [])], ["Kubernetes/one|a", "Kubernetes/two|a"]);
  });

  it("leave nothing behind when their last shard goes", () => {
    const service = aService("a", "shop", { labelSelectors: { app: "a" } });
    const [one, two] = [inShard("Kubernetes/one", service), inShard("Kubernetes/two", service)];
    const { graph, world } = aWorld([one, two], [removed(one)]);
    assert.equal(graph.get(keys.service(name))?.size, 1);
    assert.deepEqual(graph.get(keys.serviceNames), [name]);
    world.apply([removed(two)]);
    const left = [keys.service(name), keys.servicesByHost(host), keys.selectorRow("shop", "app", "a")];
    assert.deepEqual(
      left.map((key) => graph.get(key as never)),
      [undefined, undefined, undefined],
    );
    assert.deepEqual(graph.get(keys.serviceNames), []);
  });

  it("are found by host in all namespaces, sorted", () => {
    const of = (namespace: string) => aService("a", namespace, { hostname: "a.example" });
    const { graph } = aWorld(put(of("shop"), of("bank")));
    assert.deepEqual(graph.get(keys.servicesByHost("a.example")), [
      { namespace: "bank", hostname: "a.example" },
      { namespace: "shop", hostname: "a.example" },
    ]);
  });

  it("are found by the first label of their selector, as long as they have it", () => {
    const of = (service: string, app: string) => aService(service, "shop", { labelSelectors: { version: "v1", app } });
    const row = (app: string) => keys.selectorRow("shop", "app", app);
    const { graph, world } = aWorld(put(of("b", "x"), of("a", "x")));
    const hosts = (app: string) => graph.get(row(app))?.map(({ hostname }) => hostname.split(".")[0]);
    assert.deepEqual(hosts("x"), ["a", "b"]);
    world.apply(put(of("a", "y")));
    assert.deepEqual([hosts("x"), hosts("y")], [["b"], ["a"]]);
    assert.equal(graph.get(keys.selectorRow("shop", "version", "v1")), undefined);
  });
});

describe("endpoints of the world", () => {
  it("are found by address, in each shard and host once", () => {
    const { graph, world } = aWorld([
      endpoints("two", "b", anEndpoint("10.0.0.1"), anEndpoint("10.0.0.1", { servicePortName: "other" })),
      endpoints("one", "a", anEndpoint("10.0.0.1"), anEndpoint("10.0.0.2")),
    ]);
    const uses = (address: string) =>
      graph.get(keys.address(address))?.map(({ hostname, shard }) => `${hostname} ${shard}`);
    assert.deepEqual([uses("10.0.0.1"), uses("10.0.0.2")], [["a one", "b two"], ["a one"]]);
    world.apply([endpoints("one", "a", anEndpoint("10.0.0.3"))]);
    assert.deepEqual([uses("10.0.0.1"), uses("10.0.0.2"), uses("10.0.0.3")], [["b two"], undefined, ["a one"]]);
    world.apply([removed(endpoints("two", "b"))]);
    assert.equal(uses("10.0.0.1"), undefined);
  });

  it("of shards stand in their order, and go with their last shard", () => {
    const { graph, world } = aWorld([endpoints("two", host), endpoints("one", host)]);
    assert.deepEqual([...(graph.get(keys.endpoints(name))?.keys() ?? [])], ["one", "two"]);
    world.apply([removed(endpoints("one", host)), removed(endpoints("two", host))]);
    assert.equal(graph.get(keys.endpoints(name)), undefined);
  });
});

describe("objects of the world", () => {
  const ruled = (label: string) => keys.row("ruled-hosts", label);
  const rows = (graph: Graph<Subject>, label: string) =>
    graph.get<readonly Config[]>(ruled(label))?.map(({ key }) => key.name);

  it("stand in the rows of their values, and leave those they had before", () => {
    const { graph, world } = aWorld(put(rule("r@2", "a.example"), rule("s@1", "a.example")));
    assert.deepEqual(rows(graph, "a"), ["s", "r"], "the oldest first");
    world.apply(put(rule("r@2", "b.example")));
    assert.deepEqual([rows(graph, "a"), rows(graph, "b")], [["s"], ["r"]]);
    world.apply(put(rule("s@1", "a.example")).map(removed));
    assert.equal(graph.get(ruled("a")), undefined);
  });

  it("a change of what a row does not hold leaves the row as it is", () => {
    const { graph, world } = aWorld(put(rule("r", "a.example")));
    const [row, object] = [graph.get(ruled("a")), graph.get(keys.config(rule("r", "").key))];
    world.apply(put(rule("r", "a.example", { connectionPool: { tcp: { maxConnections: 1 } } })));
    assert.equal(graph.get(ruled("a")), row);
    assert.notEqual(graph.get(keys.config(rule("r", "").key)), object);
  });

  it("one that cannot be read stays as it was, and the others of the group are applied", () => {
    const bad = aConfig("DestinationRule", "shop", "r", { host: 7 } as never);
    const { graph, refused } = aWorld(put(rule("r", "a.example")), put(bad, rule("s", "b.example")));
    assert.deepEqual(
      refused.map(({ change }) => change.key),
      [bad.key],
    );
    assert.match(String(refused[0]?.error), /host/);
    assert.deepEqual([rows(graph, "a"), rows(graph, "b")], [["r"], ["s"]]);
  });

  it("a MeshConfig that goes leaves the defaults, MeshNetworks that go leave none", () => {
    const changes = put(
      aConfig("MeshConfig", "istio-system", "istio", { rootNamespace: "root" }),
      aConfig("MeshNetworks", "istio-system", "istio", { networks: { n: { endpoints: [] } } }),
    );
    const { graph, world } = aWorld(changes);
    const known = () => [graph.get(keys.mesh)?.rootNamespace, Object.keys(graph.get(keys.networks)?.networks ?? {})];
    assert.deepEqual(known(), ["root", ["n"]]);
    world.apply(changes.map(removed));
    assert.deepEqual(known(), ["istio-system", []]);
  });
});

describe("the inputs that hold an object", () => {
  const inputs = (config: Config) => aWorld(put(config)).world.inputsOf(config.key);
  const cases: readonly (readonly [string, Config, readonly string[]])[] = [
    ["a MeshConfig", aConfig("MeshConfig", "istio-system", "istio", {}), ["mesh"]],
    ["networks", aConfig("MeshNetworks", "istio-system", "istio", {}), ["networks"]],
    [
      "a rule, with its rows",
      rule("r", "a.example"),
      [keys.config(rule("r", "").key), keys.allOf("DestinationRule"), keys.row("ruled-hosts", "a")],
    ],
    [
      "a ServiceEntry, with the services and endpoints of its hosts",
      aConfig("ServiceEntry", "shop", "e", { hosts: [host] }),
      [keys.service(name), keys.endpoints(name)],
    ],
  ];
  for (const [title, config, want] of cases)
    it(`are those of ${title}`, () => {
      const found = inputs(config);
      assert.deepEqual(
        want.filter((input) => !found.includes(input)),
        [],
      );
    });

  it("are none for one that is not there", () => {
    assert.deepEqual(aWorld([]).world.inputsOf(rule("r", "a.example").key), []);
  });
});

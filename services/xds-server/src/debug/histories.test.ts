/** A replica's memory of changes: of each input the last one, of resources how they came to be as they are. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import type { Resource, ResourceSet } from "@flotilla/xds";
import { aConfig, anEndpoint, aService, put } from "../testing/mesh.ts";
import { ChangeLedger, type LastChange } from "./change-ledger.ts";
import { byMetric } from "./findings.ts";
import { ResourceHistory } from "./resource-history.ts";

const at = (position: number): LastChange => ({
  position,
  atMs: position * 1_000,
  cause: { publisher: "test", epoch: "e", revision: position, eventTimeMs: 0 },
});
const removed = (change: Change): Change => ({ type: change.type, op: "delete", key: change.key }) as Change;
const route = (name: string) => put(aConfig("VirtualService", "shop", name, {}))[0] as Change;
const endpoints: Change = {
  ...{ type: "endpoints", op: "put", value: [anEndpoint("10.0.0.1")] },
  key: { shard: "s", namespace: "shop", hostname: "a.example", name: "a" },
} as Change;

describe("the last change of an input", () => {
  const inputs: readonly (readonly [string, Change, string])[] = [
    ["an object", route("a"), "config/VirtualService/shop/a"],
    ["the MeshConfig, whatever its name", put(aConfig("MeshConfig", "istio-system", "istio", {}))[0] as Change, "mesh"],
    ["the networks", put(aConfig("MeshNetworks", "istio-system", "istio", {}))[0] as Change, "networks"],
    ["a service", put(aService("a", "shop"))[0] as Change, "service/shop/a.shop.svc.cluster.local"],
    ["endpoints, of all shards", endpoints, "endpoints/shop/a.example"],
  ];
  for (const [name, change, input] of inputs)
    it(`of ${name}`, () => {
      const ledger = new ChangeLedger();
      ledger.note([change], at(3));
      ledger.note([change], at(5));
      assert.equal(ledger.of(input)?.position, 5);
      ledger.note([removed(change)], at(6));
      assert.equal(ledger.of(input), undefined);
    });

  it("removals are found by the positions that they lie between, and only of what was there", () => {
    const ledger = new ChangeLedger();
    ledger.note([route("a"), route("b")], at(1));
    ledger.note([removed(route("a")), removed(route("never"))], at(2));
    ledger.note([removed(route("b"))], at(3));
    assert.deepEqual(ledger.removed(1, 2), ["config/VirtualService/shop/a"]);
    assert.deepEqual(ledger.removed(2, 3), ["config/VirtualService/shop/b"]);
    assert.deepEqual(ledger.removed(0, 3).length, 2);
    assert.deepEqual(ledger.removed(3, 9), []);
  });

  it("at least the last thousand removals are remembered, and at most twice as many", () => {
    const ledger = new ChangeLedger();
    for (let i = 1; i <= 2_001; i++) {
      ledger.note([route(`r${i}`)], at(i));
      ledger.note([removed(route(`r${i}`))], at(i));
    }
    assert.equal(ledger.removed(0, 3_000).length, 1_000);
    assert.deepEqual(ledger.removed(2_000, 2_001), ["config/VirtualService/shop/r2001"]);
  });
});

const resource = (name: string, version: string): Resource => {
  return { name, version, typeUrl: typeUrl.cluster, bytes: new Uint8Array() };
};
const setOf = (version: string, ...resources: readonly Resource[]): ResourceSet => {
  return { typeUrl: typeUrl.cluster, version, byName: new Map(resources.map((one) => [one.name, one])) } as never;
};

describe("the history of resources", () => {
  const [a1, a2, b] = [resource("a", "1"), resource("a", "2"), resource("b", "1")];
  const from = 3;
  const at = { position: 4, atMs: 40 };
  const step = { from, ...at };

  it("has the content before a change, by the content after it", () => {
    const history = new ResourceHistory();
    history.note({ before: setOf("x", a1), after: setOf("y", a2, b), from, changed: () => [a2, b] }, at);
    assert.deepEqual(history.changeTo(typeUrl.cluster, a2), { before: a1, ...step });
    assert.deepEqual(history.changeTo(typeUrl.cluster, b), { before: undefined, ...step });
    assert.equal(history.changeTo(typeUrl.cluster, a1), undefined);
    assert.equal(history.changeTo(typeUrl.listener, a2), undefined);
  });

  it("looks at a step that several streams make once", () => {
    const history = new ResourceHistory();
    const [before, after] = [setOf("x", a1), setOf("y", a2)];
    let asked = 0;
    const changed = () => {
      asked++;
      return [a2];
    };
    history.note({ before, after, from, changed }, at);
    history.note({ before, after, from, changed }, { ...at, position: 9 });
    assert.equal(asked, 1);
    history.note({ before: setOf("w"), after, from, changed }, at);
    assert.equal(asked, 2);
    history.note({ before, after, from, changed }, at);
    assert.equal(asked, 2);
  });

  it("does not count another version of the same content", () => {
    const [old, bound] = ["", "/bound"].map((suffix) => resource("a", `01234567890123456789${suffix}`));
    const history = new ResourceHistory();
    const changed = () => [bound as Resource];
    history.note({ before: setOf("x", old as Resource), after: setOf("y"), from, changed }, at);
    assert.equal(history.changeTo(typeUrl.cluster, bound as Resource), undefined);
  });

  it("forgets the oldest first, and keeps what came again", () => {
    const history = new ResourceHistory(2);
    const note = (one: Resource) =>
      history.note({ before: setOf("x"), after: setOf("y", one), from, changed: () => [one] }, at);
    for (const one of [a1, b, a1, a2]) note(one);
    const known = [a1, a2, b].map((one) => history.changeTo(typeUrl.cluster, one) !== undefined);
    assert.deepEqual(known, [true, true, false]);
  });
});

it("findings stand by metric and object: several about one object are joined, equal ones once", () => {
  const found = (metric: string, object: string, message: string) => ({ metric, object, message });
  const status = byMetric([found("m", "a", "x"), found("m", "a", "y"), found("m", "a", "x"), found("n", "a", "z")]);
  assert.deepEqual(status, { m: { a: { message: "x; y" } }, n: { a: { message: "z" } } });
});

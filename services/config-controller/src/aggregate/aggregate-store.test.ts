import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, ConfigChange } from "@flotilla/model";
import { AggregateStore } from "./aggregate-store.ts";

function config(name: string, spec: string, more: Partial<Config> = {}): Config {
  const key = { kind: "Sidecar", namespace: "n", name };
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec, ...more };
}

function put(name: string, spec: string, more: Partial<Config> = {}): ConfigChange {
  const value = config(name, spec, more);
  return { type: "config", op: "put", key: value.key, value };
}

function gone(name: string): ConfigChange {
  return { type: "config", op: "delete", key: { kind: "Sidecar", namespace: "n", name } };
}

function short(changes: readonly ConfigChange[]): readonly string[] {
  return changes.map((change) =>
    change.op === "put" ? `+${change.key.name}=${change.value.spec}` : `-${change.key.name}`,
  );
}

test("the first source in order wins, and the next takes over when it lets go", () => {
  const store = new AggregateStore(["one", "two"]);
  assert.deepEqual(short(store.apply("two", [put("a", "2")])), ["+a=2"]);
  assert.deepEqual(short(store.apply("one", [put("a", "1")])), ["+a=1"]);
  assert.deepEqual(store.conflicts(), [
    { key: { kind: "Sidecar", namespace: "n", name: "a" }, winner: "one", ignored: ["two"] },
  ]);
  assert.deepEqual(short(store.apply("two", [put("a", "3")])), []);
  assert.deepEqual(short(store.apply("one", [gone("a")])), ["+a=3"]);
  assert.deepEqual(short(store.apply("two", [gone("a")])), ["-a"]);
  assert.deepEqual(store.conflicts(), []);
});

test("an equal object changes nothing, even from another line of the file", () => {
  const store = new AggregateStore(["one"]);
  store.apply("one", [put("a", "1", { provenance: { source: "file", location: "x:1" } })]);
  assert.deepEqual(store.apply("one", [put("a", "1", { provenance: { source: "file", location: "x:9" } })]), []);
  assert.deepEqual(store.apply("one", [gone("other")]), []);
});

test("objects are listed and counted by kind", () => {
  const store = new AggregateStore(["one"]);
  store.apply("one", [put("a", "1"), put("b", "1")]);
  assert.deepEqual(
    store.list("Sidecar", "n").map(({ key }) => key.name),
    ["a", "b"],
  );
  assert.deepEqual(store.list("Sidecar", "other"), []);
  assert.deepEqual([...store.counts()], [["Sidecar", 2]]);
});

test("an unannounced source is a programming error", () => {
  assert.throws(() => new AggregateStore(["one"]).apply("two", []), RangeError);
});

test("objects of namespaces that discoverySelectors leave out are held, but not in the view", () => {
  const meshConfig = (selectors: unknown): ConfigChange => {
    const value = { ...config("mesh", ""), key: { kind: "MeshConfig", namespace: "", name: "mesh" } };
    return { type: "config", op: "put", key: value.key, value: { ...value, spec: { discoverySelectors: selectors } } };
  };
  const namespace = (labels: Record<string, string>): ConfigChange => {
    const value = { ...config("n", "", { labels }), key: { kind: "Namespace", namespace: "", name: "n" } };
    return { type: "config", op: "put", key: value.key, value };
  };
  const store = new AggregateStore(["cluster", "mesh"]);
  const names = () => store.list("Sidecar").map(({ key }) => key.name);
  store.apply("cluster", [put("a", "1"), namespace({})]);
  const changes = store.apply("mesh", [meshConfig([{ matchLabels: { mesh: "yes" } }])]);
  assert.deepEqual(
    changes.map(({ op, key }) => `${op} ${key.kind}`),
    ["put MeshConfig", "delete Sidecar"],
  );
  assert.deepEqual(names(), []);
  assert.deepEqual(store.apply("cluster", [put("a", "2")]), []);
  store.apply("cluster", [namespace({ mesh: "yes" })]);
  assert.deepEqual(names(), ["a"]);
  store.apply("mesh", [meshConfig([{ matchExpressions: [{ key: "k", operator: "Like" }] }])]);
  assert.deepEqual([names(), store.problems().length], [["a"], 1], "a wrong one keeps the last good ones");
});

test("a version of the source alone is no change", () => {
  const store = new AggregateStore(["one"]);
  store.apply("one", [put("a", "1", { resourceVersion: "1" })]);
  assert.deepEqual(store.apply("one", [put("a", "1", { resourceVersion: "2" })]), []);
});

test("a snapshot is the view as it was when it was taken, whatever changes while it is read", () => {
  const store = new AggregateStore(["one", "two"]);
  store.apply("two", [put("a", "2"), put("b", "2")]);
  store.apply("one", [put("a", "1"), put("c", "1")]);
  const snapshot = store.snapshot();
  store.apply("one", [put("c", "3"), gone("a")]);
  store.apply("two", [gone("b")]);
  const specs = Array.from(snapshot, ({ key, spec }) => `${key.name}=${spec}`).sort();
  assert.deepEqual(specs, ["a=1", "b=2", "c=1"]);
});

test("conflicts and wrong selectors are reported when they come and go", () => {
  let reported = 0;
  const store = new AggregateStore(["one", "two"], () => void reported++);
  store.apply("one", [put("a", "1")]);
  assert.equal(reported, 0);
  store.apply("two", [put("a", "2")]);
  assert.equal(reported, 1);
  const key = { kind: "MeshConfig", namespace: "", name: "mesh" };
  const mesh = (spec: unknown): ConfigChange => ({
    type: "config",
    op: "put",
    key,
    value: { ...config("", ""), key, spec },
  });
  store.apply("one", [mesh({ discoverySelectors: "none" })]);
  assert.deepEqual([reported, store.problems().length], [2, 1]);
  store.apply("one", [mesh({})]);
  assert.deepEqual([reported, store.problems().length], [3, 0]);
});

test("discoverySelectors select no objects of other clusters: those were selected by the namespaces there", () => {
  const store = new AggregateStore(["one"]);
  const key = { kind: "MeshConfig", namespace: "", name: "mesh" };
  const selectors = [{ matchLabels: { mesh: "yes" } }];
  const mesh = { ...config("", ""), key, spec: { discoverySelectors: selectors } };
  const changes = store.apply("one", [
    put("a", "1"),
    put("a%east", "2"),
    { type: "config", op: "put", key, value: mesh },
  ]);
  assert.deepEqual(store.selectors, selectors);
  assert.deepEqual(
    ["a", "a%east"].map((name) => store.has({ kind: "Sidecar", namespace: "n", name })),
    [false, true],
  );
  assert.ok(short(changes).includes("+a%east=2"));
});

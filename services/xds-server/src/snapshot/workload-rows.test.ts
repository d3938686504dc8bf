/** Rows by which workloads are found: by namespace and by address, written once for a group of changes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Graph } from "@flotilla/incremental";
import type { Workload, WorkloadChange } from "@flotilla/model";
import { keys } from "./row-index.ts";
import type { Subject } from "./subject.ts";
import { WorkloadRows } from "./workload-rows.ts";

const key = (name: string, namespace = "shop") => ({ uid: `Kubernetes//Pod/${namespace}/${name}`, namespace });

function put(name: string, addresses: readonly string[], namespace = "shop"): WorkloadChange {
  const value = { kind: "Pod", namespace, name, addresses, labels: {} } as unknown as Workload;
  return { type: "workload", op: "put", key: key(name, namespace), value } as WorkloadChange;
}

function removed(name: string, namespace = "shop"): WorkloadChange {
  return { type: "workload", op: "delete", key: key(name, namespace) } as WorkloadChange;
}

/** Rows after each group of changes. */
function rowsOf(...groups: readonly (readonly WorkloadChange[])[]) {
  const graph = new Graph<Subject>();
  const rows = new WorkloadRows(graph);
  for (const group of groups) {
    for (const change of group) rows.apply(change);
    rows.publish();
  }
  const names = (uids: readonly string[] = []) => uids.map((uid) => uid.split("/").slice(-2).join("/"));
  return {
    at: (address: string) => names(graph.get(keys.workloadsAt(address))),
    namespaces: () => graph.get(keys.workloadNamespaces) ?? [],
    slices: (namespace: string) => graph.get(keys.workloadSlices(namespace)),
    isKnown: (name: string) => graph.get(keys.workload(key(name).uid)) !== undefined,
  };
}

describe("workloads by address", () => {
  const cases: readonly (readonly [
    name: string,
    groups: readonly (readonly WorkloadChange[])[],
    rows: Readonly<Record<string, readonly string[]>>,
  ])[] = [
    ["one", [[put("a", ["10.0.0.1"])]], { "10.0.0.1": ["shop/a"], "10.0.0.2": [] }],
    [
      "one of both families",
      [[put("a", ["10.0.0.1", "2001:db8::1"])]],
      { "10.0.0.1": ["shop/a"], "2001:db8::1": ["shop/a"] },
    ],
    [
      "several of a host network, in order",
      [[put("b", ["10.0.0.1"]), put("a", ["10.0.0.1"])]],
      { "10.0.0.1": ["shop/a", "shop/b"] },
    ],
    [
      "one that moved",
      [[put("a", ["10.0.0.1"])], [put("a", ["10.0.0.2"])]],
      { "10.0.0.1": [], "10.0.0.2": ["shop/a"] },
    ],
    [
      "one whose address another one took over in the same group",
      [[put("a", ["10.0.0.1"])], [removed("a"), put("b", ["10.0.0.1"])]],
      { "10.0.0.1": ["shop/b"] },
    ],
    ["one that is removed", [[put("a", ["10.0.0.1"])], [removed("a")]], { "10.0.0.1": [] }],
    ["one that was never there and is removed", [[removed("a")]], { "10.0.0.1": [] }],
  ];
  for (const [name, groups, rows] of cases)
    it(name, () => {
      const { at } = rowsOf(...groups);
      assert.deepEqual(Object.fromEntries(Object.keys(rows).map((address) => [address, at(address)])), rows);
    });
});

describe("workloads by namespace", () => {
  it("are listed by namespace in order of names, empty namespaces not at all", () => {
    const rows = rowsOf([put("a", [], "shop"), put("a", [], "bank")], [removed("a", "shop"), put("b", [], "air")]);
    assert.deepEqual(rows.namespaces(), ["air", "bank"]);
    assert.equal(rows.slices("shop"), undefined);
    assert.notEqual(rows.slices("bank"), undefined);
  });

  it("keep the slices of a namespace while its workloads only change", () => {
    const first = rowsOf([put("a", ["10.0.0.1"]), put("b", [])]);
    const changed = rowsOf([put("a", ["10.0.0.1"]), put("b", [])], [put("a", ["10.0.0.2"])]);
    assert.deepEqual(changed.slices("shop"), first.slices("shop"));
  });

  it("have the same slices in any order of their arrival", () => {
    const names = Array.from({ length: 300 }, (_, i) => `w${i}`);
    const all = names.map((name) => put(name, []));
    const atOnce = rowsOf(all).slices("shop");
    assert.deepEqual(rowsOf(all.toReversed()).slices("shop"), atOnce);
    assert.deepEqual(rowsOf(all.slice(0, 100), all.slice(100, 101), all.slice(101)).slices("shop"), atOnce);
    assert.deepEqual(rowsOf([...all, put("more", [])], [removed("more")]).slices("shop"), atOnce);
  });

  it("are gone with their object", () => {
    assert.equal(rowsOf([put("a", [])]).isKnown("a"), true);
    assert.equal(rowsOf([put("a", [])], [removed("a")]).isKnown("a"), false);
  });
});

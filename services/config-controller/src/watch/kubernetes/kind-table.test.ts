import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConfigChange, KubeObject } from "@flotilla/model";
import { configAdmission } from "../config-source.ts";
import { KindTable } from "./kind-table.ts";

function virtualService(name: string, spec: unknown, labels: Readonly<Record<string, string>> = {}): KubeObject {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", note: "kept" };
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace: "shop", resourceVersion: "7", labels, annotations },
    spec,
  };
}
const good = { hosts: ["a"], http: [{ route: [{ destination: { host: "a" } }] }] };
/** Labels that mean this revision. */
const tags = new Map<string, string>();
const table = (onProblems = () => undefined) => {
  const revisionOf = (label: string | undefined) => tags.get(label ?? "") ?? "r";
  return new KindTable({ admission: configAdmission(), revisionOf, source: "k", onProblems });
};
const short = (changes: readonly ConfigChange[]) => changes.map(({ op, key }) => `${op} ${key.name}`);

test("a refused object changes nothing in force, and is reported with its field", () => {
  const kinds = table();
  assert.deepEqual(short(kinds.put(virtualService("a", good))), ["put a"]);
  assert.deepEqual(short(kinds.put(virtualService("a", { hosts: "no list" }))), []);
  const [problem] = kinds.problems;
  assert.equal(problem?.object, "VirtualService/shop/a");
  assert.match(`${problem?.field}`, /hosts/);
  assert.deepEqual(short(kinds.put(virtualService("a", good))), ["put a"]);
  assert.deepEqual(kinds.problems, []);
});

test("a list takes away what is not in it, refused or not", () => {
  const kinds = table();
  const replace = (...objects: readonly KubeObject[]) => short([...kinds.replace(objects)].flat());
  replace(virtualService("a", good), virtualService("b", good), virtualService("c", { hosts: "no list" }));
  assert.deepEqual(replace(virtualService("b", good)), ["delete a", "put b"]);
  assert.deepEqual(kinds.problems, []);
  assert.deepEqual(replace(), ["delete b"]);
});

test("an object that moves to another revision is gone from here, once", () => {
  const kinds = table();
  kinds.put(virtualService("a", good));
  const moved = virtualService("a", good, { "istio.io/rev": "other" });
  assert.deepEqual(short(kinds.put(moved)), ["delete a"]);
  assert.deepEqual(short(kinds.put(moved)), []);
  assert.deepEqual(short(kinds.put(virtualService("a", good, { "istio.io/rev": "r" }))), ["put a"]);
});

test("annotations that kubectl writes for itself are dropped", () => {
  const [change] = table().put(virtualService("a", good));
  assert.deepEqual(change?.op === "put" && change.value.annotations, { note: "kept" });
  assert.deepEqual(change?.op === "put" && change.value.provenance, { source: "k", location: "7" });
});

test("a tag that points here brings the objects that name it, one that points away takes them", () => {
  const kinds = table();
  assert.deepEqual(short(kinds.put(virtualService("a", good, { "istio.io/rev": "stable" }))), []);
  kinds.put(virtualService("b", good));
  tags.set("stable", "stable");
  assert.deepEqual(short(kinds.reconsider()), ["put a"]);
  tags.clear();
  assert.deepEqual(short(kinds.reconsider()), ["delete a"]);
  assert.deepEqual([...kinds.replace([])].flat().length, 1);
  tags.set("stable", "stable");
  assert.deepEqual(short(kinds.reconsider()), []);
  tags.clear();
});

test("an object that has lost its label is not moved by tags any more", () => {
  const kinds = table();
  kinds.put(virtualService("a", good, { "istio.io/rev": "stable" }));
  assert.deepEqual(short(kinds.put(virtualService("a", good))), ["put a"]);
  tags.set("stable", "stable");
  assert.deepEqual(short(kinds.reconsider()), []);
  tags.clear();
  assert.deepEqual(short(kinds.reconsider()), []);
});

test("reports in the status of an object are left out", () => {
  const counted = { listeners: [{ name: "http", attachedRoutes: 7 }], attachedListenerSets: 2 };
  const reported = { conditions: [{ type: "Reconciled" }], observedGeneration: 3, ...counted };
  const status = { ...reported, addresses: [{ value: "240.240.0.1" }] };
  const [change] = table().put({ ...virtualService("a", good), status });
  assert.deepEqual(change?.op === "put" && change.value.status, { addresses: [{ value: "240.240.0.1" }] });
});

test("problems are reported when they change, and not with every object", () => {
  let reported = 0;
  const kinds = table(() => void reported++);
  kinds.put(virtualService("a", good));
  kinds.put(virtualService("a", good));
  kinds.delete(virtualService("a", good));
  assert.equal(reported, 0);
  kinds.put(virtualService("b", { hosts: "no list" }));
  assert.equal(reported, 1);
  kinds.put(virtualService("b", good));
  assert.equal(reported, 2);
});

test("added, updated and deleted objects are counted by kind", () => {
  const events: string[] = [];
  const kinds = new KindTable({
    ...{ admission: configAdmission(), revisionOf: () => "r", source: "k", onProblems: () => undefined },
    onEvent: (kind, event) => events.push(`${kind} ${event}`),
  });
  kinds.put(virtualService("a", good));
  kinds.put(virtualService("a", { ...good, hosts: ["b"] }));
  kinds.put(virtualService("b", { hosts: "no list" }));
  kinds.delete(virtualService("a", good));
  kinds.delete(virtualService("b", good));
  assert.deepEqual(events, ["VirtualService add", "VirtualService update", "VirtualService delete"]);
});

test("an object whose reports alone are new is the one in force", () => {
  const kinds = table();
  const versions = (generation: number | undefined, more: Readonly<Record<string, unknown>> = {}, status = {}) => {
    const object = virtualService("a", good);
    const metadata = { ...object.metadata, ...(generation !== undefined && { generation }), ...more };
    return { ...object, metadata, status } as KubeObject;
  };
  assert.equal(kinds.isInForce(versions(1)), false);
  kinds.put(versions(1));
  const reported = { conditions: [{ type: "Accepted" }], parents: [{ controllerName: "c" }] };
  const cases: readonly (readonly [name: string, object: KubeObject, expected: boolean])[] = [
    ["the same", versions(1), true],
    ["a written status", versions(1, { resourceVersion: "8", managedFields: [{ manager: "c" }] }, reported), true],
    ["what kubectl notes", versions(1, { annotations: { note: "kept" } }), true],
    ["another specification", versions(2), false],
    ["another object of the name", versions(1, { uid: "u2" }), false],
    ["another label", versions(1, { labels: { a: "b" } }), false],
    ["another annotation", versions(1, { annotations: { note: "changed" } }), false],
    ["a status that configuration follows from", versions(1, {}, { addresses: [{ value: "192.0.2.1" }] }), false],
    ["no generation", versions(undefined), false],
  ];
  for (const [name, object, expected] of cases) assert.equal(kinds.isInForce(object), expected, name);
  kinds.put({ ...versions(2), spec: { hosts: "no list" } } as KubeObject);
  assert.equal(kinds.isInForce(versions(1)), false, "after a refused version, until the next one");
  kinds.put(versions(1));
  kinds.delete(versions(1));
  assert.equal(kinds.isInForce(versions(1)), false, "once it is gone");
});

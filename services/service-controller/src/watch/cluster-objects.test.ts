/** Objects of a cluster: the changes that follow from what its API server sends, and the whole of it at once. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import type { FollowedKind } from "./cluster-connection.ts";
import { ClusterObjects, listObjects } from "./cluster-objects.ts";

const services: FollowedKind = { kind: "Service", path: "/api/v1/services" } as FollowedKind;
const aService = (name: string, version = "1", metadata: object = {}, port: unknown = 80): KubeObject =>
  ({
    ...{ apiVersion: "v1", kind: "Service", spec: { ports: [{ name: "http", port }] } },
    metadata: { name, namespace: "shop", resourceVersion: version, ...metadata },
  }) as KubeObject;

function recorded(kinds: readonly FollowedKind[] = [services]) {
  const lines: string[] = [];
  let states = 0;
  const objects = new ClusterObjects({
    ...{ cluster: "c", kinds },
    onChange: (change) => {
      assert.equal(change.cluster, "c");
      lines.push(change.op === "put" ? `put ${change.object.metadata.name}` : `delete ${change.key.name}`);
    },
    onState: () => void states++,
    onEvent: (kind, event) => void lines.push(`${kind} ${event}`),
  });
  const take = () => lines.splice(0).join(", ");
  return { objects, take, states: () => states };
}

const put = (object: KubeObject) => ({ type: "put", kind: "Service", object }) as const;
const removed = (object: KubeObject) => ({ type: "delete", kind: "Service", object }) as const;
const list = (...objects: readonly KubeObject[]) => ({ type: "list", kind: "Service", objects }) as const;

describe("objects of a cluster", () => {
  it("are added, updated and deleted, each version once", () => {
    const { objects, take } = recorded();
    for (const event of [put(aService("a")), put(aService("a")), put(aService("a", "2"))]) objects.record(event);
    assert.equal(take(), "Service add, put a, Service update, put a");
    objects.record(removed(aService("a", "3")));
    objects.record(removed(aService("a", "3")));
    assert.equal(take(), "Service delete, delete a");
  });
  it("are replaced by a list: those that it lacks are deleted", () => {
    const { objects, take } = recorded();
    objects.record(list(aService("a"), aService("b")));
    take();
    objects.record(list(aService("b"), aService("c")));
    assert.equal(take(), "Service delete, delete a, Service add, put c");
  });
  it("are problems while they are refused, and stay as they were", () => {
    const { objects, take, states } = recorded();
    objects.record(put(aService("a")));
    take();
    objects.record(put(aService("a", "2", {}, "none")));
    assert.deepEqual([take(), states()], ["", 1]);
    const [problem, ...more] = objects.problems();
    assert.deepEqual([problem?.object, more], ["c: Service/shop/a", []]);
    objects.record(put(aService("a", "3")));
    assert.deepEqual([take(), [...objects.problems()]], ["Service update, put a", []]);
  });
  it("of another revision count as deleted", () => {
    const { objects, take } = recorded([{ ...services, revision: "canary" } as FollowedKind]);
    const of = (version: string, revision: string) => aService("a", version, { labels: { "istio.io/rev": revision } });
    objects.record(put(of("1", "canary")));
    assert.equal(take(), "Service add, put a");
    objects.record(put(of("2", "stable")));
    assert.equal(take(), "Service delete, delete a");
    objects.record(list(of("2", "stable"), aService("b")));
    assert.equal(take(), "Service add, put b");
  });
});

describe("all objects of an API server", () => {
  const api = (answer: () => readonly KubeObject[]) =>
    ({ get: async () => ({ metadata: { resourceVersion: "1" }, items: answer() }) }) as unknown as KubeApi;
  const failing = (status: number) =>
    api(() => {
      throw new KubeError("KUBE_REFUSED", "refused", { status });
    });
  const listed = (from: KubeApi, more: object = {}) =>
    listObjects(from, { cluster: "c", kinds: [{ ...services, ...more } as FollowedKind] });

  it("are those that are not refused, of its revision, without the owners of their fields", async () => {
    const other = aService("other", "1", { labels: { "istio.io/rev": "stable" } });
    const all = [aService("a", "1", { managedFields: [{}] }), aService("bad", "1", {}, "none"), other];
    const changes = await listed(
      api(() => all),
      { revision: "canary" },
    );
    assert.deepEqual(changes, [{ type: "object", op: "put", object: aService("a"), cluster: "c" }]);
  });
  it("are none of a kind that is absent or refused, where it may be", async () => {
    assert.deepEqual(await listed(failing(404), { mayBeAbsent: true }), []);
    assert.deepEqual(await listed(failing(403), { mayBeRefused: true }), []);
    for (const [status, more] of [
      [404, { mayBeRefused: true }],
      [403, { mayBeAbsent: true }],
      [404, {}],
      [500, { mayBeAbsent: true, mayBeRefused: true }],
    ] as const)
      await assert.rejects(listed(failing(status), more), KubeError);
  });
});

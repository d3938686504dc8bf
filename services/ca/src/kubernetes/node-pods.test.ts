/** Pods that vouch for node proxies, as they come, change and go with their cluster. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { aborted, noopLogger, until } from "@flotilla/runtime";
import { PodTable } from "../authorize/pod-table.ts";
import { NodePodsFollower } from "./node-pods.ts";

const pod = (name: string, nodeName = "node-1", more: object = {}) => ({
  metadata: { name, namespace: "shop", uid: `uid-${name}`, resourceVersion: "1", ...more },
  spec: { nodeName, serviceAccountName: "web" },
});

/** An API server with these pods, and the lines of its first watch. */
function apiOf(items: readonly object[] | Error, lines: readonly object[] = []): KubeApi {
  let watches = 0;
  return {
    get: async () => {
      if (items instanceof Error) throw items;
      return { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items };
    },
    async *lines(_: string, stop: AbortSignal, onOpen: () => void) {
      onOpen();
      if (watches++ === 0) yield* lines;
      await aborted(stop);
    },
  } as unknown as KubeApi;
}

function follower() {
  const table = new PodTable();
  const states: string[] = [];
  const onState = (cluster: string, reason: string | undefined) => void states.push(`${cluster}: ${reason}`);
  const pods = new NodePodsFollower({ table, log: noopLogger, random: () => 0, onState });
  return { table, states, pods };
}

describe("pods of a cluster", () => {
  it("are those listed that have all that proves something, then those that the watch brings", async () => {
    const { table, pods } = follower();
    await using _ = pods;
    const incomplete = [
      pod("", "node-1"),
      pod("no-node", ""),
      pod("no-uid", "node-1", { uid: "" }),
      pod("no-namespace", "node-1", { namespace: "" }),
      { ...pod("no-account"), spec: { nodeName: "node-1" } },
      { metadata: pod("no-spec").metadata },
    ];
    const lines = [
      { type: "ADDED", object: pod("later", "node-2") },
      { type: "DELETED", object: pod("web") },
    ];
    await pods.follow("one", apiOf([pod("web"), ...incomplete], lines));
    await until(() => table.podOf("one", "shop", "later"), { withinMs: 10_000, what: "the pod of the watch" });
    await until(() => table.podOf("one", "shop", "web") === undefined, { withinMs: 10_000, what: "the end of a pod" });
    assert.equal(table.podOf("one", "shop", "later")?.nodeName, "node-2");
    for (const name of ["", "no-node", "no-uid", "no-account", "no-spec"])
      assert.equal(table.podOf("one", "shop", name), undefined, name);
    assert.equal(table.podOf("one", "", "no-namespace"), undefined);
  });
  it("stand until another API server has listed its own, and go with the cluster", async () => {
    const { table, states, pods } = follower();
    await using _ = pods;
    await pods.follow("one", apiOf([pod("web")]));
    const second = pods.follow("one", apiOf([pod("new")]));
    assert.ok(table.podOf("one", "shop", "web"));
    await second;
    assert.equal(table.podOf("one", "shop", "web"), undefined);
    assert.ok(table.podOf("one", "shop", "new"));
    pods.leave("one");
    assert.equal(table.podOf("one", "shop", "new"), undefined);
    assert.equal(states.at(-1), "one: undefined");
  });
  it("are not waited for after the end", async () => {
    const { pods } = follower();
    const listed = pods.follow("one", apiOf([]));
    await pods[Symbol.asyncDispose]();
    await listed;
    pods.leave("two");
  });
});

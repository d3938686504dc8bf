/** The objects that deployments for Gateways are made of, as a cluster has them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { ClusterState } from "./cluster-state.ts";

const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 2 });
const group = "/apis/gateway.networking.k8s.io/v1";
const gatewayPath = (namespace: string, name: string) => `${group}/namespaces/${namespace}/gateways/${name}`;
const gateway = (port: number, more: object = {}) => ({
  ...{ kind: "Gateway", spec: { gatewayClassName: "istio", listeners: [{ name: "http", port, protocol: "HTTP" }] } },
  ...more,
});
const defaults = (name: string, forClass: string, creationTimestamp: string) =>
  [
    `/api/v1/namespaces/mesh/configmaps/${name}`,
    { metadata: { labels: { "gateway.istio.io/defaults-for-class": forClass }, creationTimestamp } },
  ] as const;

function following() {
  const memory = createMemoryApi({
    [gatewayPath("shop", "edge")]: gateway(80),
    [gatewayPath("bank", "edge")]: gateway(90),
    [`${group}/gatewayclasses/istio`]: {
      kind: "GatewayClass",
      spec: { controllerName: "istio.io/gateway-controller" },
    },
    "/api/v1/namespaces/shop": { kind: "Namespace", metadata: { labels: { a: "b" } } },
    ...Object.fromEntries([
      defaults("late", "istio", "2026-01-02T00:00:00Z"),
      defaults("early", "istio", "2026-01-01T00:00:00Z"),
      defaults("other", "waypoint", "2025-01-01T00:00:00Z"),
    ]),
    "/api/v1/namespaces/mesh/configmaps/without": { metadata: { creationTimestamp: "2020-01-01T00:00:00Z" } },
  });
  const stop = new AbortController();
  const state = new ClusterState({ api: memory.api, namespace: "mesh", log: noopLogger, random: () => 0 });
  const running = state.run(stop.signal);
  const portsOf = () =>
    Object.fromEntries(
      state.gateways.map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec.listeners?.[0]?.port]),
    );
  const end = async () => {
    stop.abort();
    await running;
  };
  return { memory, state, portsOf, [Symbol.asyncDispose]: end };
}

describe("the state of a cluster", () => {
  it("is known when everything was listed", async () => {
    await using one = following();
    const { state } = one;
    assert.deepEqual([state.isKnown, state.gateways, state.listenerSets], [false, [], []]);
    assert.deepEqual(
      [state.controllerOf("istio"), state.namespace("shop"), state.defaultsOf("istio")],
      Array(3).fill(undefined),
    );
    await until(() => state.isKnown, soon("all lists"));
    assert.deepEqual(one.portsOf(), { "shop/edge": 80, "bank/edge": 90 });
    assert.deepEqual(
      [state.controllerOf("istio"), state.controllerOf("none")],
      ["istio.io/gateway-controller", undefined],
    );
    assert.deepEqual([state.namespace("shop")?.metadata.labels, state.namespace("none")], [{ a: "b" }, undefined]);
  });

  it("has the oldest defaults of each class", async () => {
    await using one = following();
    await until(() => one.state.isKnown, soon("all lists"));
    const nameOf = (of: string) => one.state.defaultsOf(of)?.metadata.name;
    assert.deepEqual([nameOf("istio"), nameOf("waypoint"), nameOf("none")], ["early", "other", undefined]);
  });

  it("keeps a Gateway as it was while its status alone changes, and has its changes else", async () => {
    await using one = following();
    const { memory, state } = one;
    await until(() => state.isKnown, soon("all lists"));
    const edge = () => state.gateways.find(({ metadata }) => metadata.namespace === "shop");
    const before = edge();
    memory.put(gatewayPath("shop", "edge"), gateway(80, { status: { listeners: [{ attachedRoutes: 1 }] } }));
    memory.put(gatewayPath("shop", "last"), gateway(70));
    await until(() => state.gateways.length === 3, soon("the new Gateway"));
    assert.equal(edge(), before);
    memory.put(gatewayPath("shop", "edge"), gateway(81));
    await until(() => one.portsOf()["shop/edge"] === 81, soon("the change"));
    assert.deepEqual(one.portsOf(), { "shop/edge": 81, "bank/edge": 90, "shop/last": 70 });
    memory.remove(gatewayPath("shop", "edge"));
    await until(() => state.gateways.length === 2, soon("the end"));
  });

  it("wakes its readers with each change", async () => {
    await using one = following();
    const stop = new AbortController();
    await until(() => one.state.isKnown, soon("all lists"));
    const woken = async () => {
      while (!(await one.state.changes.wait(stop.signal, 1))) if (stop.signal.aborted) return false;
      return true;
    };
    while (await one.state.changes.wait(stop.signal, 1));
    one.memory.put("/api/v1/namespaces/bank", { kind: "Namespace" });
    assert.equal(await woken(), true);
    assert.ok(one.state.namespace("bank") !== undefined);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Graph } from "@flotilla/incremental";
import { type Change, type Workload, workloadUid } from "@flotilla/model";
import { anEndpoint, aService, aSidecar, put } from "../../testing/mesh.ts";
import { decodeSpec } from "../config-specs.ts";
import { rowIndexes } from "../indexes/index.ts";
import { keys } from "../row-index.ts";
import type { Subject } from "../subject.ts";
import { query } from "../view.ts";
import { World } from "../world.ts";
import { calledEndpoints } from "./called-endpoints.ts";

const service = { namespace: "shop", hostname: "a.shop.svc.cluster.local" };
const shard = "External/Kubernetes";
const addresses = ["10.0.0.1", "10.0.0.2"];

function podAt(address: string, more: Partial<Workload> = {}): Change {
  const value: Workload = {
    ...{ kind: "Pod", name: `p-${address}`, namespace: "shop", workloadName: "p", addresses: [address], labels: {} },
    ...{ network: "", locality: "", clusterId: "Kubernetes", serviceAccount: "app", isReady: true },
    ...{ tunnel: "hbone", ports: {}, ...more },
  };
  const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", uid: workloadUid(value) };
  return { type: "workload", op: "put", key, value };
}

/** Endpoints by address, kept up to date. */
function aMesh(...changes: readonly Change[]) {
  const graph = new Graph<Subject>();
  graph.set(keys.feature("ambient"), true);
  const world = new World(graph, { indexes: rowIndexes, decode: decodeSpec });
  const apply = (...more: readonly Change[]) => assert.deepEqual(world.apply(more), []);
  const value = addresses.map((address) => anEndpoint(address, { workloadName: "" }));
  apply(...put(aService("a", "shop")), { type: "endpoints", op: "put", key: { ...service, shard }, value }, ...changes);
  const called = query("called", (view) => calledEndpoints(view, service));
  const kept = graph.observe(called, undefined, { proxy: aSidecar("shop"), targets: [] }, () => undefined);
  const shards = () => {
    assert.ok(kept.again());
    return kept.value;
  };
  return {
    apply,
    shards,
    tunnels: () =>
      shards()
        .get(shard)
        ?.map(({ takesHbone }) => takesHbone === true),
  };
}

describe("endpoints by address in the ambient mesh", () => {
  it("are called by HBONE where a captured workload has the address", () => {
    const { apply, tunnels } = aMesh(podAt("10.0.0.1"));
    assert.deepEqual(tunnels(), [true, false]);
    apply(podAt("10.0.0.2"), podAt("10.0.0.1", { tunnel: "none" }));
    assert.deepEqual(tunnels(), [false, true]);
    apply(podAt("10.0.0.2", { network: "far" }));
    assert.deepEqual(tunnels(), [false, false]);
  });

  it("stay the same objects where a workload changes in something else", () => {
    const { apply, shards } = aMesh(podAt("10.0.0.1"));
    const before = shards();
    apply(podAt("10.0.0.1", { labels: { version: "2" } }));
    assert.equal(shards(), before);
    const [captured, other] = before.get(shard) ?? [];
    apply(podAt("10.0.0.2"));
    assert.equal(shards().get(shard)?.[0], captured);
    assert.notEqual(shards().get(shard)?.[1], other);
  });
});

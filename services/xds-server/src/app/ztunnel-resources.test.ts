import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, parseNode, type Workload, workloadUid } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { aService, put } from "../testing/mesh.ts";
import { Core } from "./core.ts";
import { keepForZtunnels } from "./ztunnel-resources.ts";

const pods = 3_000;
const services = 100;
const running = new AbortController().signal;

test("a ztunnel is given what was computed before it connected", async () => {
  const core = aMesh();
  using _kept = await keepForZtunnels(core, true, running);
  const computed = core.stats().computations;
  for (const node of ["n-1", "n-2"]) {
    const subject = core.subjectOf(ztunnelOn(node));
    assert.equal(core.resources(subject, typeUrl.address)?.byName.size, pods + services);
    assert.equal(core.resources(subject, typeUrl.authorization)?.byName.size, 0);
  }
  const more = core.stats().computations - computed;
  assert.ok(more < 12, `${more} computations for the first ztunnels`);
});

test("other work runs while the resources are computed", async () => {
  let turns = 0;
  const count = (): void => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  using _kept = await keepForZtunnels(aMesh(), true, running);
  clearImmediate(timer);
  assert.ok(turns > 1, `${turns} turns of the event loop`);
});

test("a workload that comes later reaches ztunnels, and all results go when they are disposed of", async () => {
  const core = aMesh();
  const kept = await keepForZtunnels(core, true, running);
  core.apply([podChange(pods)]);
  const found = core.resources(core.subjectOf(ztunnelOn("n-1")), typeUrl.address);
  assert.equal(found?.byName.size, pods + services + 1);
  kept[Symbol.dispose]();
  assert.equal(core.stats().results, 0);
});

test("nothing is computed in a mesh that is not ambient, and little after the end was asked for", async () => {
  const core = aMesh();
  using _none = await keepForZtunnels(core, false, running);
  assert.equal(core.stats().results, 0);
  using _stopped = await keepForZtunnels(core, true, AbortSignal.abort());
  assert.ok(core.stats().results < 10, `${core.stats().results} results`);
});

function aMesh(): Core {
  const core = new Core({ features: { ambient: true } });
  const all = Array.from({ length: services }, (_, i) =>
    aService(`s-${i}`, "shop", { labelSelectors: { app: `s-${i}` } }),
  );
  assert.deepEqual(core.apply([...put(...all), ...Array.from({ length: pods }, (_, pod) => podChange(pod))]), []);
  return core;
}

function podChange(pod: number): Change {
  const value: Workload = {
    ...{ kind: "Pod", name: `p-${pod}`, namespace: "shop", workloadName: `p-${pod}`, nodeName: `n-${pod % 4}` },
    addresses: [`10.100.${(pod >> 8) & 255}.${pod & 255}`],
    labels: { app: `s-${pod % services}` },
    ...{ network: "", locality: "r/z", clusterId: "Kubernetes", serviceAccount: "app", isReady: true },
    ...{ tunnel: "hbone", ports: {} },
  };
  return {
    ...{ type: "workload", op: "put", value },
    key: { shard: "Kubernetes/Kubernetes", namespace: "shop", uid: workloadUid(value) },
  };
}

function ztunnelOn(node: string) {
  return parseNode({
    id: `ztunnel~10.77.0.1~ztunnel-${node}.istio-system~istio-system.svc.cluster.local`,
    locality: { region: "r", zone: "z", subzone: "" },
    metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes", NODE_NAME: node },
  });
}

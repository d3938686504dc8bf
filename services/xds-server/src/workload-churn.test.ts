/** Workloads that come and go: what xds-server holds of them goes with them, and one costs the same in a small mesh and in a large one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, parseNode, type Workload, workloadUid } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { type NameSet, nameSet } from "@flotilla/xds";
import { Core } from "./app/core.ts";
import { createCoreSource } from "./app/core-source.ts";
import { applyOptionsOf } from "./testing/apply-options.ts";
import { aConfig, aService, put } from "./testing/mesh.ts";

const services = 50;

function workloadOf(pod: number): Workload {
  return {
    ...{ kind: "Pod", name: `p-${pod}`, namespace: "shop", workloadName: `p-${pod}`, nodeName: `n-${pod % 4}` },
    addresses: [`10.${100 + (pod >> 16)}.${(pod >> 8) & 255}.${pod & 255}`],
    labels: { app: `s-${pod % services}`, "istio.io/use-waypoint": "w" },
    ...{ network: "", locality: "r/z", clusterId: "Kubernetes", serviceAccount: "app", isReady: true },
    ...{ tunnel: "hbone", ports: {} },
  };
}

function changeOf(pod: number, op: "put" | "delete"): Change {
  const value = workloadOf(pod);
  const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", uid: workloadUid(value) };
  return op === "put" ? { type: "workload", op, key, value } : { type: "workload", op, key };
}

const waypoint = {
  ...aConfig("KubernetesGateway", "shop", "w", {
    gatewayClassName: "istio-waypoint",
    listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }],
  }),
  labels: { "istio.io/waypoint-for": "all" },
  status: { addresses: [{ type: "IPAddress", value: "10.9.9.9" }] },
};

/** A mesh with clients of every kind that follow its workloads. */
function aMesh(pods: number) {
  const core = new Core({ features: { ambient: true, autoAllowWaypointPolicy: true } });
  const source = createCoreSource(core);
  let position = 0;
  const apply = (...changes: readonly Change[]) => {
    const refused = source.apply(changes, applyOptionsOf(changes, ++position));
    assert.deepEqual(refused, []);
  };
  const all = Array.from({ length: services }, (_, i) =>
    aService(`s-${i}`, "shop", { labelSelectors: { app: `s-${i}` } }),
  );
  apply(...put(waypoint, ...all), ...Array.from({ length: pods }, (_, pod) => changeOf(pod, "put")));
  const open = (id: string, ...wanted: readonly (readonly [type: string, names?: NameSet])[]) => {
    const proxy = parseNode({
      id: `${id}~istio-system.svc.cluster.local`,
      locality: { region: "", zone: "", subzone: "" },
      metadata: { NAMESPACE: id.endsWith("w.shop") ? "shop" : "istio-system", CLUSTER_ID: "Kubernetes" },
    });
    const session = source.open({ proxy, identities: [] }, () => undefined);
    return () => wanted.map(([type, names]) => session.resources(type, names)?.byName.size ?? 0);
  };
  const asked = nameSet(["shop/s-1.shop.svc.cluster.local", "/10.100.0.7", "Kubernetes//Pod/shop/p-3"]);
  const clients = [
    open("ztunnel~10.0.0.1~a.istio-system", [typeUrl.address], [typeUrl.authorization]),
    open("ztunnel~10.0.0.2~b.istio-system", [typeUrl.address], [typeUrl.workload]),
    open("ztunnel~10.0.0.3~c.istio-system", [typeUrl.address, asked]),
    open("waypoint~10.9.9.9~w.shop", [typeUrl.cluster], [typeUrl.listener]),
  ];
  return { core, apply, look: () => clients.map((client) => client()) };
}

test("inputs, results and resources of workloads go with them", () => {
  const { core, apply, look } = aMesh(100);
  const resources = look();
  assert.deepEqual(
    resources.flat().filter((count) => count === 0),
    [0],
    "of policies alone there are none",
  );
  const { inputs, results } = core.stats();
  for (let round = 0; round < 4; round++) {
    for (let pod = 0; pod < 10; pod++) {
      apply(changeOf(1_000 + round * 10 + pod, "put"));
      look();
    }
    for (let pod = 0; pod < 10; pod++) {
      apply(changeOf(1_000 + round * 10 + pod, "delete"));
      look();
    }
  }
  assert.deepEqual(look(), resources);
  const { inputs: inputsAfter, results: resultsAfter } = core.stats();
  assert.deepEqual({ inputs: inputsAfter, results: resultsAfter }, { inputs, results });
});

test("a workload costs as many computations in a mesh of two thousand as in one of a hundred", () => {
  const [small, large] = [100, 2_000].map((pods) => {
    const { core, apply, look } = aMesh(pods);
    look();
    const before = core.stats().computations;
    for (let pod = 5_000; pod < 5_010; pod++) {
      apply(changeOf(pod, "put"));
      look();
    }
    return (core.stats().computations - before) / 10;
  }) as [number, number];
  assert.ok(large <= small + 10, `${small} and ${large} computations`);
});

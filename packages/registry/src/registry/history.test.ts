import assert from "node:assert/strict";
import { test } from "node:test";
import type { RegistryChange } from "./published.ts";
import type { RegistryInput } from "./registry-input.ts";
import { config, gone, keyOf, node, pod, put, registry, service, slice, sorted } from "./sample-objects.fixture.ts";

test("after any history the state is what the objects of now give", () => {
  for (let seed = 1; seed <= 60; seed += 1) checkHistory(seed);
});

/** Random puts and deletes over a small world; the accumulated changes must equal a registry that starts with the end. */
function checkHistory(seed: number): void {
  const random = mulberry32(seed);
  const pick = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)] as Value;
  const one = registry();
  const world = new Map<string, RegistryInput>();
  const reported = new Map<string, RegistryChange>();
  for (let step = 0; step < 25; step += 1) {
    const batch = Array.from({ length: 1 + Math.floor(random() * 4) }, () => randomInput(pick));
    for (const input of batch) remember(world, input);
    for (const change of one.apply(batch).changes) reported.set(keyOf(change), change);
  }
  const fresh = registry();
  const expected = fresh.apply([...world.values()]).changes;
  const accumulated = [...reported.values()].filter(({ op }) => op === "put");
  assert.deepEqual(sorted(accumulated), sorted(expected), `seed ${seed}`);
  assert.deepEqual(sorted(one.state()), sorted(expected), `state, seed ${seed}`);
}

function randomInput(pick: <Value>(values: readonly Value[]) => Value): RegistryInput {
  const name = pick(["a", "b", "c"]);
  const labels = { app: pick(["a", "b", "c"]) };
  const addresses = { a: "10.1.0.1", b: "10.1.0.2", c: "10.1.0.3" };
  const kind = pick([
    "Service",
    "Pod",
    "EndpointSlice",
    "Node",
    "ServiceEntry",
    "WorkloadEntry",
    "Namespace",
    "MeshConfig",
  ]);
  if (pick([true, false, false]) && kind !== "MeshConfig") {
    const namespace = kind === "Node" || kind === "Namespace" ? "" : "n";
    if (kind.endsWith("Entry")) return { type: "config", op: "delete", key: { kind, namespace, name } };
    return gone(kind, kind === "Namespace" ? "n" : name, namespace);
  }
  switch (kind) {
    case "Service":
      return put(service(name, { selector: labels, clusterIP: pick(["10.0.0.1", "None"]) }));
    case "Pod":
      return put(pod(name, addresses[name as "a"], labels, pick(["a", "b"])));
    case "EndpointSlice":
      return put(
        slice(name, labels.app, pick([{ a: "10.1.0.1" }, { b: "10.1.0.2", c: "10.1.0.3" }, {}]), pick([true, false])),
      );
    case "Node":
      return put(node(name, pick(["r1", "r2"])));
    case "Namespace":
      return put({
        apiVersion: "v1",
        kind,
        metadata: {
          name: pick(["n", "istio-system"]),
          labels: { "topology.istio.io/network": pick(["x", "y"]) },
          annotations: { "networking.istio.io/traffic-distribution": pick(["PreferClose", "no"]) },
        },
      });
    case "MeshConfig":
      return config(kind, "mesh", { trustDomain: pick(["one", "two"]) });
    case "WorkloadEntry":
      return config(kind, name, { address: "192.0.2.1", labels });
    default:
      return config(kind, name, {
        hosts: pick([["x.example"], ["x.example", "y.example"], [`${name}.example`]]),
        resolution: pick(["STATIC", "DNS"]),
        ports: [{ number: 80, name: "http" }],
        ...pick([{ workloadSelector: { labels } }, { endpoints: [{ address: "192.0.2.7" }] }, {}]),
      });
  }
}

function remember(world: Map<string, RegistryInput>, input: RegistryInput): void {
  const metadata = input.type === "object" && input.op === "put" ? input.object.metadata : undefined;
  const kind =
    input.type === "object" && input.op === "put"
      ? input.object.kind
      : "key" in input && "kind" in input.key
        ? input.key.kind
        : "";
  const name = metadata?.name ?? ("key" in input && "name" in input.key ? input.key.name : "");
  if ("op" in input && input.op === "delete") world.delete(`${kind}/${name}`);
  else world.set(`${kind}/${name}`, input);
}

/** A small generator of numbers that are the same for the same seed. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

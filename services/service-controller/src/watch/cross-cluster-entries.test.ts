/** WorkloadEntries of other clusters, from API servers in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import type { ObjectChange } from "@flotilla/registry";
import { noopLogger, until } from "@flotilla/runtime";
import { FakeCluster, seeded } from "./fake-cluster.fixture.ts";
import { kubernetesSource } from "./kubernetes-source.ts";

const path = "/apis/networking.istio.io/v1/workloadentries";
const entry = (name: string, labels: Readonly<Record<string, string>> = {}, address: unknown = "10.2.0.9") => ({
  ...{ apiVersion: "networking.istio.io/v1", kind: "WorkloadEntry" },
  metadata: { name, namespace: "shop", labels },
  spec: { address },
});
const kubeconfig = JSON.stringify({
  "current-context": "c",
  contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  clusters: [{ name: "c", cluster: { server: "https://east" } }],
  users: [{ name: "u", user: { token: "t" } }],
});

/** The own cluster and east, read until it is disposed of. */
function followed(workloadEntriesOf: string | undefined, wrap: (api: KubeApi) => KubeApi = (api) => api) {
  const [own, east] = [new FakeCluster(seeded(1), 0), new FakeCluster(seeded(2), 0)];
  own.tokens.add("own");
  east.tokens.add("t");
  own.put("/api/v1/namespaces/istio-system/secrets", {
    metadata: { name: "east", namespace: "istio-system", labels: { "istio/multiCluster": "true" } },
    data: { east: Buffer.from(kubeconfig).toString("base64") },
  } as never);
  const asked: string[] = [];
  const watched = (api: KubeApi): KubeApi => ({
    ...api,
    get: (at, stop) => {
      asked.push(`${api.server} ${at.split("?")[0]}`);
      return api.get(at, stop);
    },
  });
  const source = kubernetesSource({
    config: { server: "https://own", credentials: () => Promise.resolve({ token: "own" }) },
    ...{ clusterId: "Kubernetes", systemNamespace: "istio-system", syncTimeoutMs: 0 },
    ...(workloadEntriesOf !== undefined && { workloadEntriesOf }),
    ...{ log: noopLogger, nowMs: Date.now, random: () => 0, onProblems: () => undefined },
    open: (to) => watched(to.server === "https://own" ? own.open(to) : wrap(east.open(to))),
  });
  const stop = new AbortController();
  const held = new Set<string>();
  const reading = (async () => {
    for await (const { inputs } of source.groups(stop.signal))
      for (const input of inputs as readonly ObjectChange[]) {
        if (input.type !== "object") continue;
        const { kind, metadata } = input.op === "put" ? input.object : { kind: input.key.kind, metadata: input.key };
        if (kind !== "WorkloadEntry") continue;
        if (input.op === "put") held.add(`${input.cluster}/${metadata.name}`);
        else held.delete(`${input.cluster}/${metadata.name}`);
      }
  })();
  const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });
  return {
    ...{ source, east, own, asked },
    isRead: () =>
      until(() => source.clusters().find(({ id }) => id === "east")?.syncStatus === "synced", soon("east to be read")),
    has: (...names: readonly string[]) => until(() => [...held].sort().join() === names.join(), soon(`${names}`)),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reading;
      await source[Symbol.asyncDispose]();
    },
  };
}

test("those of the revision are read, as their labels change; the own cluster's come as configuration", async () => {
  await using mesh = followed("default");
  const { east, own } = mesh;
  own.put(path, entry("own"));
  for (const one of [entry("a"), entry("b", { "istio.io/rev": "default" }), entry("c", { "istio.io/rev": "canary" })])
    east.put(path, one);
  await mesh.has("east/a", "east/b");
  east.put(path, entry("c"));
  await mesh.has("east/a", "east/b", "east/c");
  east.put(path, entry("a", { "istio.io/rev": "canary" }));
  await mesh.has("east/b", "east/c");
  const fresh = (await mesh.source.list?.(AbortSignal.timeout(10_000))) ?? [];
  const listed = fresh.flatMap(({ inputs }) => inputs as readonly ObjectChange[]);
  assert.deepEqual(listed.map((one) => (one.op === "put" ? one.object.metadata.name : "")).sort(), ["b", "c"]);
  east.delete(path, "b");
  await mesh.has("east/c");
});

test("one with a field of another type is refused and reported, the others count", async () => {
  await using mesh = followed("default");
  for (const one of [entry("a"), entry("b", {}, 7)]) mesh.east.put(path, one);
  await mesh.has("east/a");
  const [problem] = mesh.source.problems();
  assert.deepEqual([problem?.object, problem?.reason], ["east: WorkloadEntry/shop/b", "is no text"]);
});

test("they are not asked for where that is switched off", async () => {
  await using mesh = followed(undefined);
  mesh.east.put(path, entry("a"));
  await mesh.isRead();
  assert.deepEqual(
    mesh.asked.filter((one) => one.includes("workloadentries")),
    [],
  );
});

test("a cluster whose WorkloadEntries may not be read goes without them, and that is reported", async () => {
  await using mesh = followed("default", (api) => ({
    ...api,
    get: async (at, stop) => {
      if (at.includes("workloadentries")) throw new KubeError("KUBE_REFUSED", "they are forbidden", { status: 403 });
      return api.get(at, stop);
    },
  }));
  await mesh.isRead();
  assert.ok(
    mesh.source.problems().some(({ object, reason }) => object === "Cluster/east" && reason.includes("forbidden")),
  );
});

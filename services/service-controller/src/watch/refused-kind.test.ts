import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { noopLogger, until } from "@flotilla/runtime";
import { FakeCluster, seeded } from "./fake-cluster.fixture.ts";
import { kubernetesSource } from "./kubernetes-source.ts";

function withoutGateways(api: KubeApi): KubeApi {
  const get: KubeApi["get"] = async (path, stop) => {
    if (path.includes("/gateways")) throw new KubeError("KUBE_REFUSED", "gateways are forbidden", { status: 403 });
    return api.get(path, stop);
  };
  return { ...api, get };
}

test("a cluster whose Gateways may not be read goes without them, and that is reported", async () => {
  const [own, east] = [new FakeCluster(seeded(1), 0), new FakeCluster(seeded(2), 0)];
  own.tokens.add("own");
  east.tokens.add("t");
  const kubeconfig = JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://east" } }],
    users: [{ name: "u", user: { token: "t" } }],
  });
  own.put("/api/v1/namespaces/istio-system/secrets", {
    metadata: { name: "east", namespace: "istio-system", labels: { "istio/multiCluster": "true" } },
    data: { east: Buffer.from(kubeconfig).toString("base64") },
  } as never);
  const stop = new AbortController();
  await using source = kubernetesSource({
    config: { server: "https://own", credentials: () => Promise.resolve({ token: "own" }) },
    ...{ clusterId: "Kubernetes", systemNamespace: "istio-system", syncTimeoutMs: 0, discoverGateways: true },
    ...{ log: noopLogger, nowMs: Date.now, random: () => 0, onProblems: () => undefined },
    open: (to) => (to.server === "https://own" ? own.open(to) : withoutGateways(east.open(to))),
  });
  const reading = (async () => {
    for await (const _ of source.groups(stop.signal));
  })();
  const statusOfEast = () => source.clusters().find(({ id }) => id === "east")?.syncStatus;
  await until(() => statusOfEast() === "synced", { withinMs: 30_000, what: "the other cluster to be read" });
  assert.equal(source.clusters().find(({ id }) => id === "east")?.away, undefined);
  assert.ok(source.problems().some(({ object, reason }) => object === "Cluster/east" && reason.includes("forbidden")));
  stop.abort();
  await reading;
});

/** Where the Secrets of other clusters are read, and fresh lists of clusters, with which what was read of them is compared. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { FakeCluster } from "./fake-cluster.fixture.ts";
import { kubernetesSource } from "./kubernetes-source.ts";

const configOf = (name: string) => ({
  server: `https://${name}`,
  credentials: () => Promise.resolve({ token: name }),
});

/** An API server whose one Secret names another cluster. */
function clusterNaming(other: string): FakeCluster {
  const cluster = new FakeCluster(() => 0, 0);
  const kubeconfig = JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: `https://${other}` } }],
    users: [{ name: "u", user: { token: other } }],
  });
  const data = { [other]: Buffer.from(kubeconfig).toString("base64") };
  const secret = { metadata: { name: "remotes", namespace: "istio-system" }, data };
  cluster.put("/api/v1/namespaces/istio-system/secrets", secret);
  return cluster;
}

const cases = [
  { name: "of the cluster that is read", more: {}, named: "east" },
  { name: "of another one, where that is given", more: { secretsConfig: configOf("around") }, named: "west" },
];
for (const { name, more, named } of cases)
  test(`Secrets of other clusters are those ${name}`, async () => {
    const servers = new Map([
      ["https://own", clusterNaming("east")],
      ["https://around", clusterNaming("west")],
      ["https://east", new FakeCluster(() => 0, 0)],
      ["https://west", new FakeCluster(() => 0, 0)],
    ]);
    for (const [server, cluster] of servers) cluster.tokens.add(server.slice("https://".length));
    const source = kubernetesSource({
      ...{ config: configOf("own"), clusterId: "Kubernetes", systemNamespace: "istio-system", syncTimeoutMs: 0 },
      ...{ log: noopLogger, nowMs: Date.now, random: () => 0, onProblems: () => undefined, ...more },
      open: (to) => servers.get(to.server)?.open(to) ?? assert.fail(to.server),
    });
    const stop = new AbortController();
    const reading = (async () => {
      for await (const _ of source.groups(stop.signal));
    })();
    const read = () => [...source.apis()].map(([cluster, { server }]) => `${cluster} at ${server}`).sort();
    await until(() => read().length > 1, { withinMs: 30_000, what: "another cluster", everyMs: 2 });
    assert.deepEqual(read(), ["Kubernetes at https://own", `${named} at https://${named}`]);
    stop.abort();
    await reading;
    await source[Symbol.asyncDispose]();
  });

const services = "/api/v1/services";
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 1 });

function service(name: string, namespace: string) {
  const spec = { clusterIP: "None", ports: [{ name: "http", port: 80 }] };
  return { apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec };
}

test("a fresh list has the good objects of watched namespaces, of each cluster that can be read", async () => {
  const [own, east] = [clusterNaming("east"), new FakeCluster(() => 0, 0)];
  own.tokens.add("own");
  own.put(services, service("web", "shop"));
  own.put(services, service("db", "bank"));
  own.put(services, service("other", "elsewhere"));
  own.put(services, { ...service("bad", "shop"), spec: { ports: "none" } } as never);
  east.put(services, service("far", "shop"));
  const stop = new AbortController();
  await using source = kubernetesSource({
    config: configOf("own"),
    ...{ clusterId: "Kubernetes", systemNamespace: "istio-system", syncTimeoutMs: 0 },
    ...{ log: noopLogger, nowMs: Date.now, random: () => 0, onProblems: () => undefined },
    open: (to) => (to.server === "https://own" ? own : east).open(to),
    watchedNamespaces: ["shop", "bank"],
  });
  const reading = (async () => {
    for await (const _ of source.groups(stop.signal));
  })();
  const statusOf = (cluster: string) => source.clusters().find(({ id }) => id === cluster);
  const lists = async () =>
    ((await source.list?.(stop.signal)) ?? []).map(({ shard, inputs }) => [
      shard,
      ...inputs
        .map((input) =>
          input.type === "object" && input.op === "put" ? `${input.cluster} ${input.object.metadata.name}` : input.type,
        )
        .sort(),
    ]);
  await until(() => statusOf("Kubernetes")?.syncStatus === "synced", soon("the own cluster"));
  await until(() => statusOf("east")?.away !== undefined, soon("a refusal of the other cluster"));
  const ofOwn = ["Kubernetes/Kubernetes", "Kubernetes db", "Kubernetes web"];
  assert.deepEqual(await lists(), [ofOwn]);
  east.tokens.add("east");
  await until(
    () => statusOf("east")?.syncStatus === "synced" && statusOf("east")?.away === undefined,
    soon("the other cluster"),
  );
  assert.deepEqual(await lists(), [ofOwn, ["Kubernetes/east", "east far"]]);
  stop.abort();
  await reading;
});

test("a cluster whose server answers with something else is away, and the others go on", async () => {
  const own = clusterNaming("east");
  own.tokens.add("own");
  const stop = new AbortController();
  await using source = kubernetesSource({
    config: configOf("own"),
    ...{ clusterId: "Kubernetes", systemNamespace: "istio-system", syncTimeoutMs: 0 },
    ...{ log: noopLogger, nowMs: Date.now, random: () => 0, onProblems: () => undefined },
    open: (to) => {
      const api = own.open(to);
      return to.server === "https://own"
        ? api
        : { ...api, get: () => Promise.resolve({ page: "of a proxy" } as never) };
    },
  });
  const heard: string[] = [];
  const reading = (async () => {
    for await (const { inputs } of source.groups(stop.signal))
      for (const input of inputs)
        if (input.type === "object" && input.op === "put") heard.push(`${input.cluster} ${input.object.metadata.name}`);
  })();
  const reasonOfEast = () => source.problems().find(({ object }) => object === "Cluster/east")?.reason ?? "";
  await until(() => reasonOfEast() !== "", soon("a report of the other cluster"));
  assert.match(reasonOfEast(), /the answer is no list of objects: metadata.resourceVersion is no text/);
  own.put(services, service("web", "shop"));
  await until(() => heard.includes("Kubernetes web"), soon("a change of the own cluster"));
  stop.abort();
  await reading;
});

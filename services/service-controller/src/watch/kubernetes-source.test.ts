/** Where the Secrets of other clusters are read. */
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

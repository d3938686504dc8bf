/** Work in other clusters: it begins with the annotation of their system namespace and ends with it, or with their kubeconfig. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { aborted, noopLogger, until } from "@flotilla/runtime";
import { inControlledClusters } from "./controlled-clusters.ts";
import { createMemoryApi, type MemoryApi } from "./memory-api.fixture.ts";

const annotation = "topology.istio.io/controlPlaneClusters";
const systemNamespace = "/api/v1/namespaces/istio-system";
const secretPath = `${systemNamespace}/secrets/clusters`;
const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 2 });
const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
};

function system(clusters?: string): object {
  const annotations = clusters === undefined ? {} : { [annotation]: clusters };
  return { apiVersion: "v1", kind: "Namespace", metadata: { annotations } };
}

function kubeconfig(name: string, token = "t"): string {
  return JSON.stringify({
    ...{ "current-context": "x", contexts: [{ name: "x", context: { cluster: "c", user: "u" } }] },
    ...{ clusters: [{ name: "c", cluster: { server: `https://${name}` } }], users: [{ name: "u", user: { token } }] },
  });
}

/** The Secret that names other clusters, as the own cluster has it. */
function secret(clusters: Readonly<Record<string, string>>): object {
  const data = Object.entries(clusters).map(([name, text]) => [name, Buffer.from(text).toString("base64")]);
  const metadata = { labels: { "istio/multiCluster": "true" } };
  return { apiVersion: "v1", kind: "Secret", metadata, data: Object.fromEntries(data) };
}

/** Controls `east` and `west`; `events` has the work that began and ended, `work` runs in its place if it is given. */
function control(remotes: Readonly<Record<string, MemoryApi>>, isExternal = true, failure?: Error) {
  const own = createMemoryApi({
    [secretPath]: secret(Object.fromEntries(Object.keys(remotes).map((name) => [name, kubeconfig(name)]))),
  });
  const [events, closed]: [string[], string[]] = [[], []];
  const stop = new AbortController();
  const settings = {
    ...{ kubeconfigDirectory: undefined, localClusterSecrets: false, insecureKubeconfigs: [] },
    ...{ externalControlPlane: isExternal, clusterId: "own", namespace: "istio-system" },
    ...{ kubeconfig: undefined, kubeHost: undefined, kubePort: "443" },
  };
  const running = inControlledClusters(
    own.api,
    {
      ...{ settings, log: noopLogger, random: () => 0 },
      open: ({ server }) => {
        const name = new URL(server).hostname;
        const { api } = remotes[name] ?? createMemoryApi();
        return { ...api, [Symbol.dispose]: () => void closed.push(name) };
      },
    },
    async ({ name, api }, end) => {
      events.push(`${name} begins`);
      if (failure !== undefined) throw failure;
      assert.equal((await api.get(systemNamespace))?.kind, "Namespace", "its own API server");
      await aborted(end);
      events.push(`${name} ends`);
    },
    stop.signal,
  );
  running.catch(() => undefined);
  const has = (event: string) => until(() => events.includes(event), soon(event));
  const end = async () => {
    stop.abort();
    await running.catch(() => undefined);
  };
  return { own, events, closed, stop, running, has, [Symbol.asyncDispose]: end };
}

const annotations = [
  { name: "without the annotation", clusters: undefined, isControlled: false },
  { name: "that names our cluster", clusters: "own", isControlled: true },
  { name: "that names ours among others", clusters: "other,own", isControlled: true },
  { name: "that names any", clusters: "*", isControlled: true },
  { name: "that names another one", clusters: "owner", isControlled: false },
  { name: "that names none", clusters: "", isControlled: false },
];

describe("work in other clusters", () => {
  for (const { name, clusters, isControlled } of annotations)
    it(`${isControlled ? "runs" : "does not run"} in one ${name}`, async () => {
      const [east, west] = [createMemoryApi(), createMemoryApi({ [systemNamespace]: system("*") })];
      east.put(systemNamespace, system(clusters));
      await using one = control({ east, west });
      await one.has("west begins");
      if (isControlled) await one.has("east begins");
      else await turns();
      assert.equal(one.events.includes("east begins"), isControlled);
    });

  it("begins and ends with the annotation", async () => {
    const east = createMemoryApi({ [systemNamespace]: system() });
    await using one = control({ east });
    east.put(systemNamespace, system("own"));
    await one.has("east begins");
    east.put(systemNamespace, system("own"));
    east.put(systemNamespace, system());
    await one.has("east ends");
    east.put(systemNamespace, system("*"));
    await until(() => one.events.length === 3, soon("the work again"));
    assert.deepEqual(one.events, ["east begins", "east ends", "east begins"]);
    assert.deepEqual(one.closed, [], "its connections are kept");
  });

  it("is that of the system namespace alone", async () => {
    const east = createMemoryApi({ [systemNamespace]: system(), "/api/v1/namespaces/shop": system("*") });
    const west = createMemoryApi({ [systemNamespace]: system("*") });
    await using one = control({ east, west });
    await one.has("west begins");
    await turns();
    assert.deepEqual(one.events, ["west begins"]);
  });

  it("ends with the cluster's kubeconfig, and begins anew with another one", async () => {
    const remotes = { east: createMemoryApi(), west: createMemoryApi() };
    for (const { put } of Object.values(remotes)) put(systemNamespace, system("own"));
    await using one = control(remotes);
    await one.has("east begins");
    await one.has("west begins");
    one.own.put(secretPath, secret({ west: kubeconfig("west") }));
    await until(() => one.closed.includes("east"), soon("its connections closed"));
    one.own.put(secretPath, secret({ west: kubeconfig("west", "another") }));
    await until(() => one.events.filter((event) => event === "west begins").length === 2, soon("west anew"));
    assert.deepEqual(one.events.slice(2).toSorted(), ["east ends", "west begins", "west ends"]);
    assert.deepEqual(one.closed.toSorted(), ["east", "west"]);
  });

  it("goes on with the former kubeconfig where the new one is unusable", async () => {
    const remotes = { east: createMemoryApi(), west: createMemoryApi() };
    for (const { put } of Object.values(remotes)) put(systemNamespace, system("own"));
    await using one = control(remotes);
    await one.has("east begins");
    await one.has("west begins");
    one.own.put(secretPath, secret({ east: "[]" }));
    await one.has("west ends");
    assert.deepEqual(one.events.slice(2), ["west ends"]);
  });

  it("that fails ends all, with its error", async () => {
    const remotes = { east: createMemoryApi({ [systemNamespace]: system("own") }) };
    await using one = control(remotes, true, new Error("no right to write"));
    await assert.rejects(one.running, /no right to write/);
    assert.deepEqual(one.closed, ["east"]);
  });

  it("ends when the process is stopped", async () => {
    const remotes = { east: createMemoryApi({ [systemNamespace]: system("own") }) };
    await using one = control(remotes);
    await one.has("east begins");
    one.stop.abort();
    await one.running;
    assert.deepEqual(one.events, ["east begins", "east ends"]);
    assert.deepEqual(one.closed, ["east"]);
  });

  it("does not run where no external control plane is asked for", async () => {
    const remotes = { east: createMemoryApi({ [systemNamespace]: system("*") }) };
    await using one = control(remotes, false);
    await one.running;
    assert.deepEqual(one.events, []);
  });
});

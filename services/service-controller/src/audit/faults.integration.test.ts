/** Events of a real API server that get lost, come late, twice or in another order, and its restart: the end equals the source. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { ClusterRegistries, defaultRegistrySettings, type RegistryChange } from "@flotilla/registry";
import { delay, noopLogger, until } from "@flotilla/runtime";
import { seeded } from "../watch/fake-cluster.fixture.ts";
import { kubernetesSource } from "../watch/kubernetes-source.ts";
import { auditedSource } from "./audited-source.ts";
import { startFaultyWatches } from "./faulty-watches.fixture.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(async () => server?.[Symbol.asyncDispose]());

const services = 100;
const writes = 1_500;
const slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
const random = seeded(5);

function slice(name: string, last: number): unknown {
  return {
    metadata: { name, namespace: "shop", labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [
      { addresses: [`10.${(last >> 16) & 255}.${(last >> 8) & 255}.${last & 255}`], conditions: { ready: true } },
    ],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

async function fill(api: KubeApi): Promise<void> {
  for (const name of ["istio-system", "shop"]) await api.create("/api/v1/namespaces", { metadata: { name } });
  for (let index = 0; index < services; index++) {
    const name = `s${index}`;
    const spec = { clusterIP: "None", ports: [{ name: "http", port: 80 }] };
    await api.create("/api/v1/namespaces/shop/services", { metadata: { name, namespace: "shop" }, spec });
    await api.create(slices, slice(name, index));
  }
}

/** Replaces, deletes and makes slices; an API server that is away in between is asked again. */
async function churn(api: KubeApi, count: number): Promise<void> {
  const there = new Set(Array.from({ length: services }, (_, index) => `s${index}`));
  const write = async (name: string, last: number): Promise<void> => {
    if (!there.has(name)) {
      await api.create(slices, slice(name, last));
      there.add(name);
    } else if (random() < 0.1) {
      await api.delete(`${slices}/${name}`);
      there.delete(name);
    } else await api.replace(`${slices}/${name}`, slice(name, last));
  };
  for (let index = 0; index < count; index++) {
    const name = `s${Math.floor(random() * services)}`;
    // It is unknown how much of it the failing server has done: the next write of the slice finds out.
    await write(name, 1_000 + index).catch(async () => {
      const found = await until(async () => [(await api.get(`${slices}/${name}`)) !== undefined], {
        withinMs: 60_000,
        what: "the API server",
        everyMs: 200,
      });
      if (found[0]) there.add(name);
      else there.delete(name);
    });
    if (index % 5 === 0) await delay(5);
  }
}

/** Everything as text, in an order of its own. */
function text(changes: readonly RegistryChange[]): string {
  return changes
    .map((change) => JSON.stringify([change.key, change.op === "put" ? change.value : "", change.type]))
    .sort()
    .join("\n");
}

describe("faults before a real API server", { skip: server === undefined && whyNoApiserver }, () => {
  it("are repaired, and counted", { timeout: 180_000 }, async (test) => {
    assert.ok(server !== undefined);
    await fill(server.api);
    await using faulty = await startFaultyWatches(server.kubeconfig, random);
    const source = kubernetesSource({
      config: { server: faulty.url, credentials: () => Promise.resolve({}) },
      clusterId: "Kubernetes",
      systemNamespace: "istio-system",
      syncTimeoutMs: 30_000,
      log: noopLogger,
      nowMs: Date.now,
      random: Math.random,
      onProblems: () => undefined,
    });
    let repaired = 0;
    const audited = auditedSource(source, {
      ownCluster: "Kubernetes",
      everyMs: 1_000,
      settleMs: 500,
      log: noopLogger,
      nowMs: Date.now,
      onRepair: (_, count) => {
        repaired += count;
      },
    });
    const registry = new ClusterRegistries(defaultRegistrySettings);
    const stop = new AbortController();
    const done = (async () => {
      for await (const { inputs } of audited.groups(stop.signal)) registry.apply(inputs);
    })();
    /** The state of a registry that reads everything now. */
    const fresh = async () => {
      const other = new ClusterRegistries(defaultRegistrySettings);
      for (const { inputs } of (await source.list?.(AbortSignal.timeout(10_000))) ?? []) other.apply(inputs);
      return text(other.state());
    };
    const equalsSource = () =>
      until(async () => registry.state().length > services && text(registry.state()) === (await fresh()), {
        withinMs: 60_000,
        what: "what is known to equal the source",
        everyMs: 200,
      });
    try {
      await equalsSource();
      faulty.share = 0.05;
      await churn(server.api, writes);
      await equalsSource();
      test.diagnostic(`${writes} writes, faults ${JSON.stringify(faulty.counts)}: ${repaired} repaired`);

      const churning = churn(server.api, writes / 3);
      await server.stop();
      await server.start();
      await churning;
      await equalsSource();
      test.diagnostic(`with a restart, faults ${JSON.stringify(faulty.counts)}: ${repaired} repaired`);

      // Lost for certain: each of them is found.
      const before = repaired;
      Object.assign(faulty, { share: 1, only: "drop" });
      for (let index = 0; index < 5; index++) {
        await server.api.delete(`${slices}/s${index}`);
        await server.api.create(slices, slice(`s${index}`, 100_000 + index));
      }
      await equalsSource();
      assert.equal(repaired - before, 5);
    } finally {
      stop.abort();
      await done;
      await source[Symbol.asyncDispose]();
    }
  });
});

/** The registries that are read, of those that are configured. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { createMetrics, noopLogger, parseSettings, until } from "@flotilla/runtime";
import { declareMetrics } from "../metrics.ts";
import { settings } from "../settings.ts";
import { consul, kubernetes } from "./open-registries.ts";

const cluster = { server: "https://own", credentials: () => Promise.resolve({ token: "own" }) };

async function readWith(REGISTRIES: string): Promise<readonly string[]> {
  const parsed = parseSettings(settings, { CONSUL_HTTP_ADDR: "http://127.0.0.1:8500", REGISTRIES });
  const metrics = declareMetrics(createMetrics());
  const sources = [
    ...(await kubernetes(cluster, parsed, metrics, noopLogger, () => undefined)),
    ...(await consul(parsed, noopLogger, () => undefined)),
  ];
  await Promise.all(sources.map((source) => source[Symbol.asyncDispose]()));
  return sources.map(({ name }) => name);
}

test("all registries that are configured are read, or those that --registries names", async () => {
  assert.deepEqual(await readWith(""), ["kubernetes", "consul"]);
  assert.deepEqual(await readWith("Kubernetes,Consul"), ["kubernetes", "consul"]);
  assert.deepEqual(await readWith("Kubernetes"), ["kubernetes"]);
  assert.deepEqual(await readWith("Consul"), ["consul"]);
  await assert.rejects(readWith("Kubernetes, Mock"), /REGISTRIES.*Mock is not one of Kubernetes, Consul/);
});

/** An API server in which nothing is; `asked` are the paths of its lists. */
async function emptyCluster() {
  const asked: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://server");
    response.writeHead(200, { "content-type": "application/json" });
    // A watch stays open.
    if (searchParams.has("watch")) return void response.flushHeaders();
    asked.push(pathname);
    response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ asked, address: `http://127.0.0.1:${port}` },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

describe("WorkloadEntries of another cluster", () => {
  const entries = "/apis/networking.istio.io/v1/workloadentries";
  for (const { name, env, isAsked } of [
    { name: "are read", env: {}, isAsked: true },
    {
      name: "are not read where that is off",
      env: { PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY: "false" },
      isAsked: false,
    },
    {
      name: "are not read where no Service selects any",
      env: { PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES: "false" },
      isAsked: false,
    },
  ])
    it(name, async () => {
      await using own = await emptyCluster();
      await using east = await emptyCluster();
      const directory = mkdtempSync(join(tmpdir(), "registries-"));
      const context = { name: "east", context: { cluster: "east", user: "east" } };
      const clusters = [{ name: "east", cluster: { server: east.address } }];
      const users = [{ name: "east", user: { token: "t" } }];
      const kubeconfig = { "current-context": "east", contexts: [context], clusters, users };
      writeFileSync(join(directory, "east"), JSON.stringify(kubeconfig));
      const parsed = parseSettings(settings, { ...env, PILOT_MULTICLUSTER_KUBECONFIG_PATH: directory });
      const config = { server: own.address, credentials: () => Promise.resolve({ token: "own" }) };
      const metrics = declareMetrics(createMetrics());
      const [source] = await kubernetes(config, parsed, metrics, noopLogger, () => undefined);
      assert.ok(source !== undefined);
      const stop = new AbortController();
      const reading = (async () => {
        for await (const _ of source.groups(stop.signal));
      })();
      try {
        const isRead = () => source.clusters().some(({ id, syncStatus }) => id === "east" && syncStatus === "synced");
        await until(isRead, { withinMs: 20_000, what: "the cluster to be read", everyMs: 2 });
        assert.equal(east.asked.includes(entries), isAsked);
        assert.equal(own.asked.includes(entries), false, "those of the own cluster come as configuration");
        assert.ok(east.asked.includes("/api/v1/pods"));
      } finally {
        stop.abort();
        await reading;
        await source[Symbol.asyncDispose]();
        rmSync(directory, { recursive: true });
      }
    });
});

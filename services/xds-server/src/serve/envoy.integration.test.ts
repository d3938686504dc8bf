/**
 * A real Envoy takes everything in both forms, warms changed resources, and after a reconnect is sent nothing it has. Requirements of Envoy
 * 1.40, found with this set-up: a changed cluster stays warming until its endpoints are sent again, in both forms, and its CDS is not
 * acknowledged until then; changed and new listeners take routes and secrets that Envoy has without another update of them.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Envoy, envoyBootstrap, startEchoServer, startEnvoy } from "@flotilla/dataplane";
import { shortName, typeUrl as types } from "@flotilla/proto";
import { until } from "@flotilla/runtime";
import { findServer, freePort } from "@flotilla/servers";
import type { Form } from "@flotilla/xds";
import type { StreamObserver } from "./stream-record.ts";
import { cluster, endpoints, listener, route, secret } from "./testing/envoy-resources.ts";
import { certificatePem, keyPem } from "./testing/test-certificate.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });

async function versionBehind(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });
  return response.status === 200 ? ((await response.json()) as { version: string }).version : String(response.status);
}

/** No counter of a refused update, nothing that waits for configuration. */
async function assertHealthy(envoy: Envoy): Promise<void> {
  const stats = await envoy.stats(/update_rejected|warming_clusters|total_listeners_warming|init_fetch_timeout/);
  const bad = [...stats].filter(([, value]) => value !== 0);
  assert.deepEqual(bad, [], `see ${envoy.logFile}`);
}

for (const form of ["sotw", "delta"] as const satisfies readonly Form[]) {
  describe(`a real Envoy, ${form}`, () => {
    it("takes configuration and changes, and after a reconnect nothing it has", async () => {
      const directory = await mkdtemp(join(tmpdir(), "flotilla-xds-"));
      const sent: string[] = [];
      const observer: StreamObserver = {
        sent: (_, typeUrl, { resources }) => sent.push(`${shortName(typeUrl)} ${resources}`),
      };
      await using one = await startEchoServer("v1");
      await using two = await startEchoServer("v2");
      let server: TestServer = await startTestServer({ options: { observer } });
      const { source, port: discoveryPort } = server;
      const [port, tlsPort, laterPort] = [await freePort(), await freePort(), await freePort()];
      const plain = (statPrefix: string) => listener("plain", { routeName: "r", port, statPrefix });
      const tls = (statPrefix: string) =>
        listener("tls", { routeName: "r", port: tlsPort, secret: "cert", statPrefix });
      source.put(types.cluster, [cluster("a"), cluster("b")]);
      source.put(types.endpoint, [endpoints("a", one.port), endpoints("b", two.port)]);
      source.put(types.listener, [plain("x"), tls("x")]);
      source.put(types.route, [route("r", "a")]);
      source.put(types.secret, [secret("cert", keyPem, certificatePem)]);
      const node = { name: "e", namespace: "shop", serviceAccount: "e", labels: {}, address: "127.0.0.1" };
      const envoy = await startEnvoy({
        binary: await findServer("envoy", { env: process.env }),
        directory,
        name: "envoy",
        bootstrap: envoyBootstrap({ node, discoveryAddress: server.address, delta: form === "delta", adminPort: 0 }),
      });
      try {
        await envoy.ready(60_000);
        assert.equal(await versionBehind(port), "v1");

        source.put(types.route, [route("r", "b")]);
        await until(async () => (await versionBehind(port)) === "v2", soon("the new route"));

        // A changed cluster warms until its endpoints come, though they are the same.
        sent.length = 0;
        source.put(types.cluster, [cluster("a"), cluster("b", 2)]);
        await until(() => sent.length >= 2, soon("cluster and endpoints"));
        assert.deepEqual(sent, [`cds ${form === "delta" ? 1 : 2}`, "eds 1"]);
        await until(async () => (await envoy.stats(/cluster_manager.cluster_modified/)).size > 0, soon("the change"));
        await until(
          async () => (await envoy.stats(/warming_clusters/)).get("cluster_manager.warming_clusters") === 0,
          soon("warm"),
        );

        // Changed and new listeners: routes and secrets are there.
        sent.length = 0;
        source.put(types.listener, [
          plain("y"),
          tls("y"),
          listener("later", { routeName: "r", port: laterPort, secret: "cert" }),
        ]);
        await until(
          async () =>
            (await envoy.stats(/total_listeners_active/)).get("listener_manager.total_listeners_active") === 3,
          soon("three listeners"),
        );
        assert.deepEqual(sent, [`lds 3`]);
        assert.equal(await versionBehind(port), "v2");
        await assertHealthy(envoy);

        // A new process at the same address: nothing is sent, changes still arrive.
        await server[Symbol.asyncDispose]();
        sent.length = 0;
        server = await startTestServer({ source, port: discoveryPort, options: { observer } });
        await until(() => server.connected.list()[0]?.types().size === 5, soon("all five subscriptions"));
        await until(
          () => [...(server.connected.list()[0]?.types().values() ?? [])].every(({ isDue }) => !isDue),
          soon("rest"),
        );
        assert.deepEqual(sent, []);
        assert.equal(await versionBehind(port), "v2");

        // A new cluster and the route to it at once: no request fails, as the route waits for the cluster.
        source.put(types.endpoint, [endpoints("a", one.port), endpoints("b", two.port), endpoints("c", one.port)]);
        source.put(types.cluster, [cluster("a"), cluster("b", 2), cluster("c")]);
        source.put(types.route, [route("r", "c")]);
        const seen = new Set<string>();
        await until(async () => seen.add(await versionBehind(port)).has("v1"), {
          ...soon("the route to the new cluster"),
          everyMs: 0,
        });
        assert.deepEqual(
          [...seen].filter((version) => version !== "v1" && version !== "v2"),
          [],
        );

        // And back: the cluster goes after the route that used it.
        sent.length = 0;
        source.put(types.cluster, [cluster("a"), cluster("b", 2)]);
        source.put(types.endpoint, [endpoints("a", one.port), endpoints("b", two.port)]);
        source.put(types.route, [route("r", "b")]);
        await until(
          async () => (await envoy.stats(/cluster_removed/)).get("cluster_manager.cluster_removed") === 1,
          soon("removal"),
        );
        assert.deepEqual(sent.slice(0, 2), ["rds 1", `cds ${form === "delta" ? 0 : 2}`]);
        assert.equal(await versionBehind(port), "v2");
        await assertHealthy(envoy);
      } finally {
        await envoy[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      }
      await rm(directory, { recursive: true, force: true });
    });

    it("is given endpoints again when it lost the server between a cluster and its endpoints", async () => {
      const directory = await mkdtemp(join(tmpdir(), "flotilla-xds-"));
      await using one = await startEchoServer("v1");
      await using server = await startTestServer();
      const { source } = server;
      const port = await freePort();
      source.put(types.cluster, [cluster("a")]);
      source.put(types.endpoint, [endpoints("a", one.port)]);
      source.put(types.listener, [listener("plain", { routeName: "r", port })]);
      source.put(types.route, [route("r", "a")]);
      const node = { name: "e", namespace: "shop", serviceAccount: "e", labels: {}, address: "127.0.0.1" };
      await using envoy = await startEnvoy({
        binary: await findServer("envoy", { env: process.env }),
        directory,
        name: "envoy",
        bootstrap: envoyBootstrap({ node, discoveryAddress: server.address, delta: form === "delta", adminPort: 0 }),
      });
      await envoy.ready(60_000);
      const warming = async () => (await envoy.stats(/warming_clusters/)).get("cluster_manager.warming_clusters");
      // The server loses its endpoints for as long as it takes to lose the stream, too.
      source.failing = types.endpoint;
      source.put(types.cluster, [cluster("a", 3)]);
      await until(async () => (await warming()) === 1, soon("a warming cluster"));
      server.connected.disconnect(server.connected.list()[0]?.id ?? "");
      source.failing = undefined;
      await until(async () => (await warming()) === 0, soon("warm"));
      assert.equal(await versionBehind(port), "v1");
      await assertHealthy(envoy);
      await rm(directory, { recursive: true, force: true });
    });
  });
}

/**
 * The whole path with everything real: five processes, NATS, Redis, Envoys. Requests follow a file; a new xds-server
 * serves from Redis alone; certificates come from ca.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  allReady,
  binomialBounds,
  type ControlPlane,
  call,
  copySample,
  countVersions,
  type Fleet,
  healthOf,
  type MeshFolder,
  startChild,
  startControlPlane,
  startFleet,
  startProxy,
} from "@flotilla/cli/testing";
import type { Envoy } from "@flotilla/dataplane";
import { until } from "@flotilla/runtime";
import { findServer, freePorts } from "@flotilla/servers";

const host = "reviews.shop.svc.cluster.local:8080";
const secondClient = { host: "127.0.1.12", port: 8080 };
const stop = new AbortController();

for (const form of ["delta", "state of the world"] as const) {
  describe(`a mesh over ${form}`, () => {
    const workDir = mkdtempSync(join(tmpdir(), "flotilla-mesh-"));
    const owned = new AsyncDisposableStack();
    const delta = form === "delta";
    let mesh: MeshFolder;
    let plane: ControlPlane;
    let fleet: Fleet;
    let envoy: string;

    before(async () => {
      envoy = await findServer("envoy", { env: process.env });
      mesh = copySample(workDir);
      writeFileSync(join(mesh.path, "second-client.yaml"), secondClientSidecar);
      plane = owned.use(
        await startControlPlane({
          options: await runOptions(workDir, mesh.path),
          logs: "files",
          onProgress: () => undefined,
        }),
      );
      await allReady(plane, 90_000, () => undefined, stop.signal);
      fleet = owned.use(await startFleet(envoy, plane.layout, delta));
      await Promise.all([fleet.client.ready(60_000), fleet.server.ready(60_000)]);
    });

    after(async () => {
      await owned.disposeAsync();
      rmSync(workDir, { recursive: true, force: true });
    });

    it("splits requests by weight", async () => {
      const counts = await countVersions(host, 1000);
      const [low, high] = binomialBounds(1000, 0.1);
      const second = counts.get("v2") ?? 0;
      assert.equal((counts.get("v1") ?? 0) + second, 1000, `${[...counts]}`);
      assert.ok(second >= low && second <= high, `v2 answered ${second}, want ${low}..${high}`);
    });

    it("proves the caller by mutual TLS and refuses plain text in STRICT mode", async () => {
      const reply = await until(async () => (await call(host)).reply, {
        withinMs: 60_000,
        what: "an answer of v1",
        everyMs: 1,
      });
      const answers = [reply, ...(await Promise.all(Array.from({ length: 20 }, async () => (await call(host)).reply)))];
      const first = answers.find((one) => one?.version === "v1");
      assert.match(
        String(first?.headers["x-forwarded-client-cert"]),
        /URI=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/web/,
      );
      assert.notEqual(await plainRequest(), 200);
    });

    it("lets plain text pass in PERMISSIVE mode", async () => {
      writeFileSync(join(mesh.path, "permissive.yaml"), permissive);
      await until(async () => (await plainRequest()) === 200, { withinMs: 60_000, what: "plain text to be answered" });
      rmSync(join(mesh.path, "permissive.yaml"));
      await until(async () => (await plainRequest()) !== 200, {
        withinMs: 60_000,
        what: "plain text to be refused again",
      });
    });

    it("a new xds-server serves from Redis alone, and old proxies are sent nothing", async () => {
      const running = (name: string) => plane.services.find((service) => service.name === name);
      const before = await updates(fleet.client);
      await running("config-controller")?.[Symbol.asyncDispose]();
      await running("service-controller")?.[Symbol.asyncDispose]();
      await plane.servers.nats?.kill();
      await running("xds-server")?.kill();
      const counts = await countVersions(host, 100);
      assert.equal((counts.get("v1") ?? 0) + (counts.get("v2") ?? 0), 100, "Envoy goes on without xds-server");

      const healthUrl = running("xds-server")?.healthUrl ?? "";
      const started = performance.now();
      owned.use(
        startChild({
          name: "xds-server",
          env: plane.environment("xds-server"),
          healthUrl,
          logFile: join(workDir, "logs", "second.log"),
        }),
      );
      await until(async () => (await healthOf({ healthUrl })).state === "ready", {
        withinMs: 60_000,
        what: "the new xds-server to be ready",
      });
      console.log(`      ready from Redis after ${Math.round(performance.now() - started)} ms`);

      const node = {
        name: "web-2",
        namespace: "shop",
        serviceAccount: "web",
        labels: { app: "web-2" },
        address: "127.0.1.12",
      };
      const fresh = await startProxy(envoy, node, plane.layout, owned, delta);
      await fresh.ready(60_000);
      const { status } = await call("quotes.example.com:8080", {}, "/", secondClient);
      assert.equal(status, 200, "a new Envoy gets its whole configuration");

      await until(
        async () =>
          (await fleet.client.stats(/control_plane.connected_state/)).get("control_plane.connected_state") === 1,
        {
          withinMs: 60_000,
          what: "the old Envoy to be connected again",
        },
      );
      // Had something been due, it would have arrived with the reconnect; the new proxy's answers came later.
      assert.deepEqual(await updates(fleet.client), before);
    });

    it("follows a changed file after everything is back", { timeout: 180_000 }, async () => {
      const { nats } = plane.servers;
      assert.ok(nats !== undefined);
      owned.use(await nats.startAgain());
      for (const name of ["config-controller", "service-controller"] as const) {
        const healthUrl = plane.services.find((service) => service.name === name)?.healthUrl ?? "";
        owned.use(
          startChild({
            name,
            env: plane.environment(name),
            healthUrl,
            logFile: join(workDir, "logs", `${name}-2.log`),
          }),
        );
        await until(async () => (await healthOf({ healthUrl })).state === "ready", {
          withinMs: 60_000,
          what: `${name} to be ready`,
        });
      }
      mesh.routeAllTo("v2");
      await until(async () => (await countVersions(host, 20)).get("v2") === 20, {
        withinMs: 60_000,
        what: "all requests to follow the new route",
      });
      const counts = await countVersions(host, 200);
      assert.deepEqual([...counts], [["v2", 200]]);
    });

    it("rejected nothing on the way", async () => {
      for (const one of [fleet.client, fleet.server]) {
        const rejected = [...(await one.stats(/update_rejected/))].filter(([, count]) => count > 0);
        assert.deepEqual(rejected, [], one.name);
      }
    });
  });
}

async function runOptions(workDir: string, config: string) {
  const settings = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const firstPort = await freePorts(20);
  return {
    embedded: false,
    config,
    mesh: undefined,
    networks: undefined,
    settings,
    firstPort,
    workDir,
  };
}

/** How often each kind of configuration was taken. */
async function updates(envoy: Envoy): Promise<Readonly<Record<string, number>>> {
  const stats = await envoy.stats(/(cds|lds)\.update_success/);
  return Object.fromEntries([...stats].sort());
}

/** The status of a request in plain text to the server's sidecar; 0 when it is refused. */
function plainRequest(): Promise<number> {
  return new Promise((resolve) => {
    const request = get({ host: "127.0.1.21", port: 18080, path: "/", timeout: 2_000, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(0));
  });
}

const permissive = `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: reviews, namespace: shop}
spec:
  selector: {matchLabels: {app: reviews}}
  mtls: {mode: PERMISSIVE}
`;

const secondClientSidecar = `apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: web-2, namespace: shop}
spec:
  workloadSelector: {labels: {app: web-2}}
  egress:
    - {port: {number: 8080, protocol: HTTP, name: http}, bind: 127.0.1.12, captureMode: NONE, hosts: ["./*"]}
`;

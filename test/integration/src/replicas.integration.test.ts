/**
 * Two replicas of xds-server behind a plain TCP balancer, with real NATS, Redis and Envoys: proxies move and are sent nothing
 * they have, replicas are replaced under load, servers fail in the middle of pushes, and all end with the same truth.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { type ControlPlane, call, countVersions, type Fleet, type MeshFolder, startFleet } from "@flotilla/cli/testing";
import { delay, until } from "@flotilla/runtime";
import { findServer } from "@flotilla/servers";
import { type Balancer, startBalancer } from "./replicas/balancer.ts";
import { startLossyNats } from "./replicas/lossy-nats.ts";
import { startPlaneWithoutXds } from "./replicas/plane-without-xds.ts";
import { type Replica, startReplica } from "./replicas/replica.ts";
import { Watcher } from "./replicas/watcher.ts";

const host = "reviews.shop.svc.cluster.local:8080";
const watcherCount = 60;

describe("replicas of xds-server", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-replicas-"));
  const owned = new AsyncDisposableStack();
  const ports: number[] = [];
  const replicas: Replica[] = [];
  const watchers: Watcher[] = [];
  let mesh: MeshFolder;
  let plane: ControlPlane;
  let balancer: Balancer;
  let fleet: Fleet;

  const start = async (i: number, env?: Readonly<Record<string, string>>): Promise<Replica> => {
    const replica = await startReplica({ plane, name: `replica-${i}`, firstPort: ports[i] ?? 0, ...(env && { env }) });
    replicas[i] = replica;
    return replica;
  };
  const replace = async (i: number): Promise<void> => {
    await replicas[i]?.[Symbol.asyncDispose]();
    await start(i);
  };
  const connections = () => Promise.all(replicas.slice(0, 2).map((replica) => replica.metric("pilot_xds")));
  const received = () => watchers.reduce((sum, watcher) => sum + watcher.received, 0);
  const allRouteTo = (subset: string) =>
    until(() => watchers.every((one) => one.routesTo(subset)), soon(`routes to ${subset}`));
  const soon = (what: string, withinMs = 60_000) => ({ withinMs, what });

  /** Every replica sends a new proxy what all the others have. */
  const agree = async (): Promise<void> => {
    for (const { port } of replicas) {
      await using fresh = new Watcher(`127.0.0.1:${port}`, 1_000);
      await until(() => fresh.isSynced, soon("a new proxy to be synced"));
      const isEqual = (one: Watcher) => isDeepStrictEqual(one.versions(), fresh.versions());
      await until(() => watchers.every(isEqual), soon("all proxies to have the same")).catch(() => {
        for (const watcher of watchers) assert.deepEqual(watcher.versions(), fresh.versions());
      });
    }
  };

  before(async () => {
    const envoy = await findServer("envoy", { env: process.env });
    const started = owned.use(await startPlaneWithoutXds(workDir));
    ({ plane, mesh } = started);
    ports.push(...started.firstPorts);
    balancer = owned.use(await startBalancer());
    owned.defer(async () => {
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    });
    balancer.targets.add((await start(0)).port);
    const layout = { ...plane.layout, ports: { ...plane.layout.ports, xds: balancer.port } };
    fleet = owned.use(await startFleet(envoy, layout));
    await Promise.all([fleet.client.ready(60_000), fleet.server.ready(60_000)]);
    for (let i = 0; i < watcherCount; i++) watchers.push(owned.use(new Watcher(`127.0.0.1:${balancer.port}`, i)));
    await until(() => watchers.every(({ isSynced }) => isSynced), soon("all proxies to be synced"));
  });

  after(async () => {
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("share the proxies when one is added, and those that move are sent nothing again", {
    timeout: 180_000,
  }, async () => {
    const before = received();
    balancer.targets.add((await start(1)).port);
    let counts: readonly number[] = [];
    const isEven = async () => {
      counts = await connections();
      const sum = counts.reduce((total, count) => total + count, 0);
      return sum === watcherCount + 2 && Math.max(...counts) / (sum / counts.length) < 1.2;
    };
    await until(isEven, { ...soon("even replicas", 40_000), everyMs: 200 });
    const moved = watchers.filter(({ connects }) => connects > 1).length;
    console.log(`      ${counts.join(" and ")} streams; ${moved} of ${watcherCount} proxies connected again`);
    assert.ok(moved > 0 && moved < watcherCount, `${moved}`);
    assert.equal(received(), before);
  });

  it("are replaced one after the other under a changing mesh without a failed request", {
    timeout: 180_000,
  }, async () => {
    let [isOver, edits, good] = [false, 0, 0];
    const bad: string[] = [];
    const asking = (async () => {
      while (!isOver) {
        const { status } = await call(host).catch((error: Error) => ({ status: error.message }));
        if (status === 200) good++;
        else bad.push(String(status));
        await delay(5);
      }
    })();
    const editing = (async () => {
      for (; !isOver; edits++) {
        mesh.routeAllTo(edits % 2 === 0 ? "v1" : "v2");
        await delay(100);
      }
    })();
    await replace(0);
    await replace(1);
    // A slow machine may need longer for them than for the replicas.
    await until(() => good > 100 && edits > 5, soon("enough requests and edits"));
    isOver = true;
    await Promise.all([asking, editing]);
    console.log(`      ${good} requests and ${edits} edits meanwhile`);
    assert.deepEqual(bad, []);
    mesh.routeAllTo("v2");
    await allRouteTo("v2");
    await until(async () => (await countVersions(host, 20)).get("v2") === 20, soon("all requests to follow"));
    await agree();
  });

  it("end with the same truth after crashes of a replica, NATS and Redis in the middle of pushes", {
    timeout: 180_000,
  }, async () => {
    const { nats, redis } = plane.servers;
    assert.ok(nats !== undefined && redis !== undefined);
    const crashes: readonly (() => Promise<unknown>)[] = [
      async () => {
        process.kill(replicas[0]?.service.pid ?? 0, "SIGKILL");
        await start(0);
      },
      async () => {
        await nats.kill();
        await delay(300);
        owned.use(await nats.startAgain());
      },
      async () => {
        await redis.kill();
        await delay(300);
        owned.use(await redis.startAgain());
      },
    ];
    for (const [i, crash] of crashes.entries()) {
      const last = i % 2 === 0 ? "v1" : "v2";
      const editing = (async () => {
        for (let edit = 0; edit < 10; edit++) {
          mesh.routeAllTo(edit % 2 === 0 ? "v1" : "v2");
          await delay(40);
        }
        mesh.routeAllTo(last);
      })();
      await Promise.all([crash(), editing]);
      await allRouteTo(last);
      await agree();
    }
  });

  it("repair what is lost or comes late on the way from NATS, and count it", { timeout: 180_000 }, async () => {
    await using lossy = await startLossyNats({ port: plane.servers.nats?.port ?? 0 });
    const { search } = new URL(plane.environment("xds-server")["BUS_URL"] ?? "");
    const replica = await start(2, { BUS_URL: `${lossy.url}${search}` });
    await using watcher = new Watcher(`127.0.0.1:${replica.port}`, 2_000);
    await until(() => watcher.isSynced, soon("the proxy to be synced"));
    const resumed = () => replica.metric("flotilla_stream_resumed_total");
    // Losses during the first read are not counted as resumptions.
    const isEnough = async () => lossy.counts.lost >= 3 && lossy.counts.late >= 3 && (await resumed()) > 0;
    // Each edit waits for its effect behind the other replicas, so that none is merged with the next on its way into the stream.
    let edits = 0;
    for (; !(await isEnough()); edits++) {
      assert.ok(edits < 200, `${edits} edits, ${JSON.stringify(lossy.counts)}`);
      const subset = edits % 2 === 0 ? "v1" : "v2";
      mesh.routeAllTo(subset);
      await allRouteTo(subset);
    }
    mesh.routeAllTo("v1");
    await until(() => watcher.routesTo("v1"), soon("the last edit"));
    await agree();
    const { lost, late } = lossy.counts;
    const times = await resumed();
    console.log(`      ${edits} edits: ${lost} deliveries lost, ${late} late; the stream was resumed ${times} times`);
  });
});

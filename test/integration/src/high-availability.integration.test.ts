/** All services over three NATS servers and three Redis with Sentinels: the leader of the stream and the primary are killed under load. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connectBus, createSeal, storedStreams } from "@flotilla/bus";
import type { ControlPlane, MeshFolder } from "@flotilla/cli/testing";
import { delay, noopLogger, until } from "@flotilla/runtime";
import {
  freePort,
  type NatsCluster,
  type RedisSentinel,
  startNatsCluster,
  startRedisSentinel,
} from "@flotilla/servers";
import { openStore } from "@flotilla/state";
import { streamsOf } from "./replicas/nats-streams.ts";
import { startPlaneWithoutXds } from "./replicas/plane-without-xds.ts";
import { type Replica, startReplica } from "./replicas/replica.ts";
import { Watcher } from "./replicas/watcher.ts";

const watcherCount = 20;
const soon = (what: string, withinMs = 60_000) => ({ withinMs, what });

describe("services over replicated NATS and Redis", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-ha-"));
  const owned = new AsyncDisposableStack();
  const watchers: Watcher[] = [];
  let nats: NatsCluster;
  let redis: RedisSentinel;
  let plane: ControlPlane;
  let mesh: MeshFolder;
  let ports: readonly number[] = [];
  let replica: Replica;

  const allRouteTo = (subset: string) =>
    until(() => watchers.every((watcher) => watcher.routesTo(subset)), soon(`routes to ${subset} on all proxies`));

  /** Edits until `work` has ended, then one more, which must reach every proxy. */
  const editDuring = async (work: () => Promise<unknown>): Promise<void> => {
    let isOver = false;
    const editing = (async () => {
      for (let edit = 0; !isOver; edit++) {
        mesh.routeAllTo(edit % 2 === 0 ? "v1" : "v2");
        await delay(100);
      }
    })();
    await work();
    isOver = true;
    await editing;
    for (const last of ["v1", "v2"]) {
      mesh.routeAllTo(last);
      await allRouteTo(last);
    }
  };

  before(
    async () => {
      const servers = { env: process.env, size: 3 };
      nats = owned.use(await startNatsCluster({ ...servers, directory: join(workDir, "nats") }));
      redis = owned.use(
        await startRedisSentinel({ ...servers, directory: join(workDir, "redis"), downAfterMs: 1_000 }),
      );
      // With a leader of the cluster there, so that the services need no patience.
      await using bus = await connectBus(
        { url: nats.url, clientName: "test", log: noopLogger, replicas: 3 },
        AbortSignal.timeout(60_000),
      );
      assert.ok(bus.state.connected);
      const settings = { BUS_URL: nats.url, BUS_REPLICAS: "3", STORE_URL: redis.url };
      const started = owned.use(await startPlaneWithoutXds(join(workDir, "plane"), settings));
      ({ plane, mesh, firstPorts: ports } = started);
      // The record of the xds-server that ended a moment ago is still there: nothing is handed off to it.
      const env = { XDS_HANDOFF_PER_SECOND: "0" };
      replica = owned.use(await startReplica({ plane, name: "replica-0", firstPort: ports[0] ?? 0, env }));
      for (let i = 0; i < watcherCount; i++) watchers.push(owned.use(new Watcher(`127.0.0.1:${replica.port}`, i)));
      await until(() => watchers.every(({ isSynced }) => isSynced), soon("all proxies to be synced"));
    },
    { timeout: 180_000 },
  );
  after(async () => {
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("keep three copies of everything, and nothing that the table of stored streams does not name", async () => {
    const known = new Set(storedStreams.map(({ stream }) => stream));
    const streams = await streamsOf(nats.pages);
    assert.ok(streams.length > 5, `${streams.length} streams`);
    for (const { name, replicas } of streams) {
      assert.ok(known.has(name), `${name} is not in packages/bus/src/stored-streams.ts`);
      assert.equal(replicas, 3, name);
    }
  });

  it("go on when the NATS server that leads the stream is killed", { timeout: 180_000 }, async (t) => {
    const leader = (await streamsOf(nats.pages)).find(({ name }) => name === "FLOTILLA")?.leader ?? "";
    const victim = Number(leader.replace("nats-", ""));
    const began = performance.now();
    await editDuring(async () => {
      await nats.servers[victim]?.kill();
      const leads = async () => {
        const found = await streamsOf(nats.pages);
        return found.some((stream) => stream.name === "FLOTILLA" && !["", leader].includes(stream.leader));
      };
      await until(leads, { ...soon("another leader"), everyMs: 250 });
    });
    t.diagnostic(`edits arrive again ${Math.round(performance.now() - began)} ms after the kill`);
    await nats.restart(victim);
    assert.deepEqual(watchers.filter(({ connects }) => connects !== 1).length, 0);
  });

  it("go on when the Redis primary is killed, and a new replica is ready from the snapshot alone", {
    timeout: 180_000,
  }, async () => {
    const { mac } = createSeal(readFileSync(join(workDir, "plane", "seal.key")));
    await using store = openStore({ url: redis.url, log: noopLogger, mac });
    const positionOf = async () => (await store.load().catch(() => undefined))?.position ?? 0;
    await until(async () => (await positionOf()) > 0, soon("a snapshot"));
    let before = 0;
    await editDuring(async () => {
      before = await positionOf();
      await redis.servers[0]?.kill();
      await until(async () => (await positionOf()) > before, { ...soon("a write to the new primary"), everyMs: 250 });
    });
    const holdsLastEdit = async () => {
      const { entries = new Map() } = (await store.load().catch(() => undefined)) ?? {};
      const text = new TextDecoder().decode(entries.get("config VirtualService/shop/reviews"));
      return text.includes('"v2"') && !text.includes('"v1"');
    };
    await until(holdsLastEdit, { ...soon("the last edit in the snapshot"), everyMs: 250 });
    // Nothing listens there: this replica has no NATS.
    const env = { BUS_URL: `nats://127.0.0.1:${await freePort()}` };
    await using alone = await startReplica({ plane, name: "replica-1", firstPort: ports[1] ?? 0, env });
    await using watcher = new Watcher(`127.0.0.1:${alone.port}`, 1_000);
    await until(() => watcher.routesTo("v2"), soon("the last edit, from the snapshot"));
    assert.deepEqual(watchers.filter(({ connects }) => connects !== 1).length, 0);
  });
});

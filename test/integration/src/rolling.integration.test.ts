/**
 * Every service is replaced one after the other under constant load, with real NATS, Redis and Envoys: by itself, by the version before (where
 * VERSION_BEFORE names it), and by this version again. xds-server has two replicas behind a balancer, so that both versions serve at the same time; the others read
 * what the other version left on the bus, in the snapshot and in the work directory. No request fails, and changes go on arriving.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ControlPlane, countVersions, type Fleet, type MeshFolder, startFleet } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { findServer } from "@flotilla/servers";
import { root } from "./local/flotilla.ts";
import { type Balancer, startBalancer } from "./replicas/balancer.ts";
import { startPlaneWithoutXds } from "./replicas/plane-without-xds.ts";
import { Watcher } from "./replicas/watcher.ts";
import { underLoad } from "./rolling/load.ts";
import { type ServiceName, type ServiceProcess, startService } from "./rolling/service-process.ts";
import { findVersionBefore, installVersionBefore } from "./rolling/version-before.ts";

const host = "reviews.shop.svc.cluster.local:8080";
const watcherCount = 20;
const versionBefore = await findVersionBefore(process.env);
const noVersion = versionBefore === undefined && "VERSION_BEFORE names no version to run beside this one";

/** Of one service; the two of xds-server share a name. */
interface Part {
  readonly name: ServiceName;
  readonly label: string;
  readonly healthUrl: string;
  readonly env: Readonly<Record<string, string>>;
  running: ServiceProcess | undefined;
}

describe("every service is replaced under load", () => {
  // Short: sockets of proxies stand in it.
  const workDir = mkdtempSync(join(tmpdir(), "fl-roll-"));
  const owned = new AsyncDisposableStack();
  const parts: Part[] = [];
  const watchers: Watcher[] = [];
  let plane: ControlPlane;
  let mesh: MeshFolder;
  let balancer: Balancer;
  let fleet: Fleet;

  const soon = (what: string) => ({ withinMs: 90_000, what });
  const replace = async (part: Part, from: string): Promise<void> => {
    assert.equal(await part.running?.stop(), 0, `${part.label} ends with 0`);
    part.running = await startService({ ...part, plane, root: from });
  };
  /** A change reaches all proxies, and requests follow it. */
  const follows = async (subset: string): Promise<void> => {
    mesh.routeAllTo(subset);
    await until(() => watchers.every((one) => one.routesTo(subset)), soon(`routes to ${subset}`));
    const all = async () => (await countVersions(host, 20)).get(subset) === 20;
    await until(all, soon(`all requests to go to ${subset}`));
  };
  /** Every part in turn, with a change that arrives after each. */
  const roll = async (from: string): Promise<void> => {
    const { answered, failed, edits } = await underLoad(host, mesh, async () => {
      for (const part of parts) await replace(part, from);
    });
    console.log(`      ${answered} requests, ${failed.length} failed, ${edits} edits meanwhile`);
    assert.deepEqual(failed, []);
    assert.ok(answered > 100 && edits > parts.length, `${answered} requests, ${edits} edits`);
    await follows("v1");
    await follows("v2");
  };

  before(
    async () => {
      const envoy = await findServer("envoy", { env: process.env });
      const started = owned.use(await startPlaneWithoutXds(workDir));
      ({ plane, mesh } = started);
      balancer = owned.use(await startBalancer());
      for (const [i, first] of started.firstPorts.slice(0, 2).entries()) {
        const ports = { XDS_PORT: first, XDS_TLS_PORT: first + 1, HTTP_PORT: first + 2, HEALTH_PORT: first + 3 };
        const env = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]));
        const label = `xds-server-${i}`;
        const healthUrl = `http://127.0.0.1:${first + 3}`;
        parts.push({ name: "xds-server", label, healthUrl, env: { ...env, POD_NAME: label }, running: undefined });
        balancer.targets.add(first);
      }
      owned.defer(async () => {
        await Promise.all(parts.map(({ running }) => running?.[Symbol.asyncDispose]()));
      });
      for (const part of parts) part.running = await startService({ ...part, plane, root });
      // From now on every service is a process of the test's own.
      for (const service of plane.services.filter((one) => one.name !== "xds-server")) {
        const { name, healthUrl } = service;
        await service[Symbol.asyncDispose]();
        const part: Part = { name, label: name, healthUrl, env: {}, running: undefined };
        part.running = await startService({ ...part, plane, root });
        parts.unshift(part);
      }
      const layout = { ...plane.layout, ports: { ...plane.layout.ports, xds: balancer.port } };
      fleet = owned.use(await startFleet(envoy, layout));
      await Promise.all([fleet.client.ready(60_000), fleet.server.ready(60_000)]);
      for (let i = 0; i < watcherCount; i++) watchers.push(owned.use(new Watcher(`127.0.0.1:${balancer.port}`, i)));
      await until(() => watchers.every(({ isSynced }) => isSynced), soon("all proxies to be synced"));
      await follows("v1");
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("by itself: a rolling restart", { timeout: 300_000 }, () => roll(root));

  describe(`by the version before, ${versionBefore?.commit.slice(0, 8)} ${versionBefore?.subject}`, {
    skip: noVersion,
  }, () => {
    let other = "";
    before(
      async () => {
        if (versionBefore !== undefined) other = await installVersionBefore(versionBefore);
      },
      { timeout: 400_000 },
    );

    it("a downgrade", { timeout: 300_000 }, () => roll(other));
    it("an upgrade", { timeout: 300_000 }, () => roll(root));
  });
});

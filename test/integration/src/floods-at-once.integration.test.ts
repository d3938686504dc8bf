/**
 * Every flood at once, on every port that has one, by a caller with a good certificate of the mesh: frames of HTTP/2, bodies without end,
 * handshakes and silent connections. Beside it another workload has certificates signed, is sent changes and has reviews answered, each
 * within the time after which its real counterpart would give up.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TlsMaterial } from "@flotilla/auth/serving";
import { aggregatedDiscoveryService, certificateService, create, encode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { DeltaDiscoveryRequestSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { until } from "@flotilla/runtime";
import { type AttackResult, attackAside, type FloodTarget, residentMib } from "@flotilla/testkit";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";
import { type FloodedPlane, startFloodedPlane } from "./ports/flooded-plane.ts";

/** Of PILOT_XDS_SEND_TIMEOUT, and the longest that an API server waits for a webhook. */
const givesUpAfterMs = 30_000;
/** An API server waits for 10 s by default; reviews beside bodies without end once took 13 s. */
const reviewedWithinMs = 5_000;
/** Rounds of the victim go on for this long, so that each flood has begun and been ended many times. */
const floodedMs = 20_000;
const leastRounds = 5;
const maxGrownMib = 512;
const node = create(NodeSchema, { id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local" });

describe("all floods at once", { timeout: 300_000 }, () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-all-floods-"));
  const config = join(workDir, "mesh");
  const stop = new AbortController();
  const owned = new AsyncDisposableStack();
  let flooded: FloodedPlane;
  let [attacker, victim]: [TlsMaterial, TlsMaterial] = [undefined as never, undefined as never];
  /** Hosts that the victim has clusters of. */
  const hosts = new Set<string>();

  before(async () => {
    mkdirSync(config);
    flooded = owned.use(await startFloodedPlane(workDir, config, stop.signal));
    attacker = await flooded.certificateOf("web");
    victim = await flooded.certificateOf("other");
    follow();
    await change("before.example.com");
    await flooded.review(victim);
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  /** The victim's stream, which is open before the floods begin. */
  function follow(): void {
    const pems = [flooded.root.rootsPem, victim.keyPem, victim.chainPem].map((text) => Buffer.from(text));
    const tls = credentials.createSsl(pems[0] as Buffer, pems[1], pems[2], { checkServerIdentity: () => undefined });
    const client = new XdsClient({
      ...{ form: "delta", backoffMs: () => 100 },
      node: create(NodeSchema, { id: "sidecar~10.0.0.2~other.shop~shop.svc.cluster.local" }),
      transport: grpcTransport({ address: `localhost:${flooded.plane.layout.ports.xdsTls}`, tls }),
      onUpdate: ({ changed }) => {
        for (const { name } of changed) hosts.add(name.split("|").at(-1) ?? "");
      },
    });
    client.subscribe(typeUrl.cluster);
    const running = client.run(stop.signal);
    owned.defer(() => {
      stop.abort();
      return running;
    });
  }

  async function change(host: string): Promise<void> {
    const spec = { hosts: [host], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" };
    const object = { apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", spec };
    const file = join(config, `${host}.yaml`);
    writeFileSync(`${file}.new`, JSON.stringify({ ...object, metadata: { name: host, namespace: "shop" } }));
    renameSync(`${file}.new`, file);
    await until(() => hosts.has(host), { withinMs: 120_000, what: `the cluster of ${host}`, everyMs: 20 });
  }

  function attacks(): readonly { readonly port: string; readonly target: FloodTarget; readonly attack: string }[] {
    const { ports } = flooded.plane.layout;
    const tls = { key: attacker.keyPem, cert: attacker.chainPem };
    const over2 = { attack: "everything over HTTP/2" };
    const over1 = { attack: "everything over HTTP/1.1" };
    const from = { localAddress: "127.0.0.2" };
    const request = create(DeltaDiscoveryRequestSchema, { node, typeUrl: typeUrl.listener });
    const stream = {
      path: aggregatedDiscoveryService.deltaAggregatedResources.path,
      message: encode(DeltaDiscoveryRequestSchema, request),
    };
    const sign = { path: certificateService.createCertificate.path, message: Buffer.alloc(0) };
    return [
      { port: "15010", ...over2, target: { ...from, ...stream, port: ports.xds, tls: false } },
      { port: "15012", ...over2, target: { ...from, ...stream, port: ports.xdsTls, tls } },
      { port: "15013", ...over2, target: { ...from, ...sign, port: ports.ca, tls } },
      { port: "15014", ...over1, target: { ...from, path: "/debug/syncz", port: ports.xdsHealth, tls: false } },
      { port: "8080", ...over1, target: { ...from, path: "/debug/syncz", port: ports.http, tls: false } },
      { port: "15017", ...over1, target: { ...from, path: "/validate", port: ports.webhook, tls } },
    ];
  }

  it("leave another workload its certificates, changes and reviews, and the processes their memory", async () => {
    const { services } = flooded.plane;
    const pids = () => services.map(({ name, pid }) => `${name} ${pid}`);
    const pidsBefore = pids();
    const grownMib = followMemory(services);
    const answered = Promise.withResolvers<void>();
    const running = attacks().map(async ({ port, target, attack }) => {
      const result: AttackResult = await attackAside({ target, attack }, answered.promise);
      return { port, result };
    });
    const taken: Record<string, number[]> = {};
    let round = 0;
    const timed = async (what: string, ask: () => Promise<unknown>): Promise<void> => {
      const since = performance.now();
      await ask();
      taken[what] = [...(taken[what] ?? []), performance.now() - since];
    };
    try {
      const since = performance.now();
      for (; round < leastRounds || performance.now() - since < floodedMs; round++)
        await Promise.all([
          timed("certificate", () => flooded.certificate({ current: victim })),
          timed("change", () => change(`round-${round}.example.com`)),
          timed("review", () => flooded.review(victim)),
        ]);
    } finally {
      answered.resolve();
    }
    const results = await Promise.all(running);
    for (const { port, result } of results) {
      console.log(`      ${port}: ${"reason" in result ? result.reason : ""}`);
      assert.ok("done" in result && result.done > 0, `${port}: ${JSON.stringify(result)}`);
    }
    for (const [what, times] of Object.entries(taken)) {
      console.log(`      each ${what} after ${times.map(Math.round).join(", ")} ms`);
      const withinMs = what === "review" ? reviewedWithinMs : givesUpAfterMs;
      for (const ms of times) assert.ok(ms < withinMs, `a ${what} took ${ms} ms`);
    }
    assert.deepEqual(pids(), pidsBefore, "all processes go on");
    for (const [name, mib] of grownMib()) {
      console.log(`      ${name}: ${mib.toFixed(0)} MiB more`);
      assert.ok(mib < maxGrownMib, `${name} took ${mib} MiB more`);
    }
  });

  /** Samples the memory of the services; the result gives the most that each has taken since, in MiB, and ends it. */
  function followMemory(services: FloodedPlane["plane"]["services"]): () => ReadonlyMap<string, number> {
    const before = new Map(services.map(({ name, pid }) => [name, residentMib(pid ?? 0)]));
    const grown = new Map<string, number>();
    const sample = (): void => {
      for (const { name, pid } of services)
        grown.set(name, Math.max(grown.get(name) ?? 0, residentMib(pid ?? 0) - (before.get(name) ?? 0)));
    };
    const timer = setInterval(sample, 50);
    owned.defer(() => {
      clearInterval(timer);
    });
    return () => {
      clearInterval(timer);
      sample();
      return grown;
    };
  }
});

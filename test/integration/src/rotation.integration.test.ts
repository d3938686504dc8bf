/**
 * The root is replaced under load: five processes with NATS and Redis, two Envoys that shake hands for each request, with
 * certificates of 30 s, and a third workload that is cut off. No request fails in any phase.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { type Envoy, startEnvoy } from "@flotilla/dataplane";
import { delay, until } from "@flotilla/runtime";
import { findServer, freePort, freePorts } from "@flotilla/servers";
import { program } from "./local/flotilla.ts";
import { Agent } from "./rotation/agent.ts";
import { clientBootstrap, serverBootstrap } from "./rotation/handshaking-envoys.ts";

const execute = promisify(execFile);
const workDir = mkdtempSync(join(tmpdir(), "flotilla-rotation-"));
const owned = new AsyncDisposableStack();
const stop = new AbortController();
const ttlMs = 30_000;
const identity = (name: string) => `spiffe://cluster.local/ns/shop/sa/${name}`;

interface Status {
  readonly phase: string;
  readonly holdups: readonly { readonly name: string; readonly reason: string }[];
  readonly last?: { readonly outcome: string };
}
let plane: ControlPlane;
let client: Envoy;
let address = "";
let batch: Agent;
/** Answers by phase. */
const answers = new Map<string, { good: number; bad: number; handshakes: number }>();
let phase = "idle";
let load: Promise<void> | undefined;

before(async () => {
  const binary = await findServer("envoy", { env: process.env });
  mkdirSync(join(workDir, "mesh"));
  const settings = { ...process.env, CA_ROTATION_SETTLE: "3s" } as Record<string, string>;
  const more = { embedded: false, mesh: undefined, networks: undefined };
  const options = { ...more, config: join(workDir, "mesh"), settings, firstPort: await freePorts(20), workDir };
  plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
  await allReady(plane, 90_000, () => undefined, stop.signal);
  const agent = async (name: string, life = ttlMs) =>
    owned.use(await Agent.start({ name, layout: plane.layout, ttlMs: life, roots: "by-pcds" }));
  const [web, reviews] = [await agent("web"), await agent("reviews")];
  batch = await agent("batch", 3_600_000);

  const backend = createServer((_, response) => response.end("ok"));
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
  owned.defer(() => void backend.close());
  const [tlsPort, port] = [await freePort(), await freePort()];
  const start = async (name: string, bootstrap: Parameters<typeof startEnvoy>[0]["bootstrap"]) =>
    owned.use(await startEnvoy({ binary, directory: join(workDir, "envoy"), name, bootstrap }));
  const target = (backend.address() as AddressInfo).port;
  await start(
    "reviews",
    serverBootstrap({ port: tlsPort, target, secretSocket: reviews.secretSocket, peer: identity("web") }),
  );
  client = await start(
    "web",
    clientBootstrap({ port, target: tlsPort, secretSocket: web.secretSocket, peer: identity("reviews") }),
  );
  address = `http://127.0.0.1:${port}/`;
  await until(async () => (await fetch(address)).status === 200, {
    withinMs: 60_000,
    what: "the first request",
    everyMs: 100,
  });
  load = ask();
});

after(async () => {
  stop.abort();
  await load;
  await owned.disposeAsync();
  rmSync(workDir, { recursive: true, force: true });
});

/** One request after the other until the end. */
async function ask(): Promise<void> {
  let handshakesBefore = await handshakes();
  while (!stop.signal.aborted) {
    const at = phase;
    const { status } = await fetch(address).catch(() => ({ status: 0 }));
    const count = answers.get(at) ?? { good: 0, bad: 0, handshakes: 0 };
    answers.set(at, count);
    if (status === 200) count.good++;
    else count.bad++;
    if ((count.good + count.bad) % 50 === 0) {
      const now = await handshakes();
      count.handshakes += now - handshakesBefore;
      handshakesBefore = now;
    }
    await delay(5);
  }
}

async function handshakes(): Promise<number> {
  const stats = await client.stats(/^cluster\.server\.ssl\.handshake$/);
  return stats.get("cluster.server.ssl.handshake") ?? 0;
}

/** As an operator asks: by the command. */
async function flotilla(...args: readonly string[]): Promise<Status> {
  const { stdout } = await execute(process.execPath, [program, "ca", ...args, "--json", "--work-dir", workDir]);
  const status = JSON.parse(stdout) as Status;
  phase = status.phase;
  return status;
}

/** @throws with what holds the rotation up when the phase does not come. */
async function reach(wanted: string, withinMs: number): Promise<void> {
  const check = async (): Promise<boolean> => {
    const status = await flotilla("status");
    if (status.phase !== wanted) throw new Error(`${status.phase}, held up by ${JSON.stringify(status.holdups)}`);
    return true;
  };
  await until(check, { withinMs, what: `phase ${wanted}`, everyMs: 300 });
}

describe("the root is replaced under load", () => {
  it("a workload that is cut off stops it and is named", { timeout: 180_000 }, async () => {
    await batch.disconnect();
    assert.equal((await flotilla("rotate")).phase, "trusting");
    const isBatch = ({ name }: { readonly name: string }) => name.startsWith(`${identity("batch")}@pod/shop/batch/`);
    const named = await until(
      async () => {
        const status = await flotilla("status");
        return status.holdups.length === 1 && status.holdups.every(isBatch) && status;
      },
      { withinMs: 60_000, what: "all but one to trust the new root", everyMs: 200 },
    );
    assert.match(named.holdups[0]?.reason ?? "", /not connected/);
    // Longer than anything has to settle.
    await delay(5_000);
    assert.equal((await flotilla("status")).phase, "trusting");
  });

  it("goes on when it is back and has acknowledged the new root, without a new certificate", {
    timeout: 180_000,
  }, async () => {
    batch.connect();
    await reach("issuing", 20_000);
    const batchIsNamed = async () =>
      (await flotilla("status")).holdups.some(({ name }) => name.startsWith(identity("batch")));
    await until(batchIsNamed, { withinMs: 60_000, what: "its old certificate to be waited for" });
  });

  it("ends when no certificate of the old root is left", { timeout: 180_000 }, async () => {
    await batch.renewNow();
    await reach("idle", 60_000);
    assert.equal((await flotilla("status")).last?.outcome, "rotated");
    // The mesh lives on the new root alone, for as many requests as are counted below.
    const before = answers.get("idle")?.good ?? 0;
    const isUsed = () => (answers.get("idle")?.good ?? 0) > before + 150;
    await until(isUsed, { withinMs: 60_000, what: "requests after the rotation", everyMs: 100 });
  });

  it("no request failed, and each had a handshake of its own, in every phase", () => {
    for (const [name, { good, bad, handshakes: shaken }] of answers) {
      process.stdout.write(`${name}: ${good} requests, ${shaken} handshakes, ${bad} failures\n`);
      assert.equal(bad, 0, name);
    }
    for (const name of ["trusting", "issuing", "idle"]) {
      const { good = 0, handshakes: shaken = 0 } = answers.get(name) ?? {};
      assert.ok(good > 100, `${good} requests in phase ${name}`);
      // They are counted every 50 requests.
      assert.ok(Math.abs(good - shaken) <= 100, `${good} requests and ${shaken} handshakes in phase ${name}`);
    }
  });

  it("Envoy saw no failed handshake either", async () => {
    const failures = [...(await client.stats(/ssl\.(connection_error|fail_)/))].filter(([, count]) => count > 0);
    assert.deepEqual(failures, []);
  });
});

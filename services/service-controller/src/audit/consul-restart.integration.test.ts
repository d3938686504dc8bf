/** A real Consul that crashes while its services change: the end equals the catalog. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { ClusterRegistries, defaultRegistrySettings } from "@flotilla/registry";
import { delay, noopLogger, until } from "@flotilla/runtime";
import { findServer, startConsul } from "@flotilla/servers";
import { consulSource } from "../watch/consul-source.ts";
import { seeded } from "../watch/fake-cluster.fixture.ts";
import { auditedSource } from "./audited-source.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-consul-"));
after(() => rmSync(root, { recursive: true, force: true }));
const { env } = process;
const missing = await findServer("consul", { env }).then(
  () => undefined,
  (error: Error) => error.message,
);
if (missing !== undefined) process.stderr.write(`SKIPPED: ${missing}\n`);
const random = seeded(7);
const names = 20;

async function write(url: string, path: string, body: unknown): Promise<void> {
  const send = async () => {
    const response = await fetch(`${url}${path}`, { method: "PUT", body: JSON.stringify(body) });
    // What is to go may have gone by the crash.
    if (!response.ok && response.status !== 404) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
    return true;
  };
  await until(send, { withinMs: 30_000, what: `${path} to be taken`, everyMs: 50 });
}

async function churn(url: string, writes: number): Promise<void> {
  for (let index = 0; index < writes; index++) {
    const id = Math.floor(random() * names * 3);
    if (random() < 0.2) await write(url, `/v1/agent/service/deregister/i${id}`, {});
    else {
      const service = { Name: `s${id % names}`, ID: `i${id}`, Address: "10.0.0.1", Port: 1_000 + index };
      await write(url, "/v1/agent/service/register", service);
    }
    if (index % 10 === 0) await delay(5);
  }
}

describe("a real Consul that crashes", { skip: missing }, () => {
  it("under changes of its services is in the end as its catalog", { timeout: 120_000 }, async (test) => {
    const directory = join(root, "one");
    let consul = await startConsul({ env, directory });
    const { url, port } = consul;
    const source = consulSource({
      ...{ url, token: undefined, tokenFile: undefined, certificateAuthorities: undefined, datacenters: [] },
      ...{ namespaces: [], partition: "", connections: 50, syncTimeoutMs: 20_000, log: noopLogger },
      ...{ nowMs: Date.now, random: Math.random, onProblems: () => undefined },
    });
    let repaired = 0;
    const onRepair = (_: string, count: number) => {
      repaired += count;
    };
    const audit = {
      ownCluster: "Kubernetes",
      everyMs: 2_000,
      settleMs: 1_000,
      log: noopLogger,
      nowMs: Date.now,
      onRepair,
    };
    const audited = auditedSource(source, audit);
    const registry = new ClusterRegistries(defaultRegistrySettings);
    const stop = new AbortController();
    const done = (async () => {
      for await (const { inputs } of audited.groups(stop.signal)) registry.apply(inputs);
    })();
    const text = (of: ClusterRegistries) =>
      of
        .state()
        .map((change) => JSON.stringify(change))
        .sort()
        .join("\n");
    const equalsCatalog = async () => {
      const other = new ClusterRegistries(defaultRegistrySettings);
      const listed = (await source.list?.(AbortSignal.timeout(10_000))) ?? [];
      assert.ok(listed.length > 0, "the catalog is read");
      for (const { inputs } of listed) other.apply(inputs);
      return other.state().length > names && text(registry) === text(other);
    };
    try {
      await churn(url, 150);
      const churning = churn(url, 150);
      await delay(100);
      await consul.kill();
      consul = await startConsul({ env, directory, port });
      await churning;
      await until(equalsCatalog, { withinMs: 40_000, what: "what is known to equal the catalog", everyMs: 200 });
      test.diagnostic(`${repaired} repaired`);
    } finally {
      stop.abort();
      await done;
      await source[Symbol.asyncDispose]();
      await consul[Symbol.asyncDispose]();
    }
  });
});

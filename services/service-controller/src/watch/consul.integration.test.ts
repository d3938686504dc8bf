/** Real Consul servers: what is registered there arrives, over restarts, with ACLs and from a second datacenter. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { defaultRegistrySettings, Registry } from "@flotilla/registry";
import { noopLogger, until } from "@flotilla/runtime";
import { findServer, freePort, startConsul } from "@flotilla/servers";
import { type ConsulSourceOptions, consulSource } from "./consul-source.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-consul-"));
after(() => rmSync(root, { recursive: true, force: true }));
const { env } = process;
const missing = await findServer("consul", { env }).then(
  () => undefined,
  (error: Error) => error.message,
);
if (missing !== undefined) process.stderr.write(`SKIPPED: ${missing}\n`);

async function write(url: string, path: string, body: unknown, token = ""): Promise<void> {
  const headers = token === "" ? {} : { "x-consul-token": token };
  const send = async () => {
    const response = await fetch(`${url}${path}`, { method: "PUT", body: JSON.stringify(body), headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
    return true;
  };
  // A server that listens may not have elected itself yet.
  await until(send, { withinMs: 60_000, what: `${path} to be taken`, everyMs: 50 });
}

const register = (url: string, id: string, more: Readonly<Record<string, unknown>> = {}, token = "") =>
  write(
    url,
    "/v1/agent/service/register",
    { Name: "reviews", ID: id, Address: "10.0.0.1", Port: 9080, ...more },
    token,
  );

/** Follows an agent into a registry. */
function follow(url: string, over: Partial<ConsulSourceOptions> = {}) {
  const source = consulSource({
    url,
    token: undefined,
    tokenFile: undefined,
    certificateAuthorities: undefined,
    datacenters: [],
    namespaces: [],
    partition: "",
    connections: 50,
    syncTimeoutMs: 20_000,
    log: noopLogger,
    nowMs: Date.now,
    random: Math.random,
    onProblems: () => undefined,
    ...over,
  });
  const registry = new Registry(defaultRegistrySettings);
  const stop = new AbortController();
  const done = (async () => {
    for await (const { inputs } of source.groups(stop.signal)) registry.apply(inputs);
  })();
  const endpoints = (host = "reviews.service.consul") =>
    registry
      .state()
      .flatMap((change) =>
        change.type === "endpoints" && change.op === "put" && change.key.hostname === host
          ? change.value.map((e) => `${e.definedBy?.split("/").at(-1)}@${e.locality}:${e.port} ${e.health} ${e.weight}`)
          : [],
      )
      .sort()
      .join(", ");
  return {
    source,
    registry,
    endpoints,
    are: (expected: string, host?: string) =>
      until(() => endpoints(host) === expected, {
        withinMs: 60_000,
        what: `${expected}; there is: ${endpoints(host)}`,
      }),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
      await source[Symbol.asyncDispose]();
    },
  };
}

describe("a real Consul", { skip: missing }, () => {
  it("gives services, instances, health and weights as they change, and keeps them over its restart", async () => {
    const directory = join(root, "one");
    let consul = await startConsul({ env, directory });
    const { url, port } = consul;
    try {
      const Check = { CheckID: "c", TTL: "1h", Status: "passing" };
      const Weights = { Passing: 3, Warning: 2 };
      const Meta = { protocol: "http", team: "x" };
      await register(url, "r1", { Tags: ["version|v1", "canary"], Meta, Weights, Check });
      await using followed = follow(url);
      await followed.are("r1@dc1:9080 healthy 3");
      const service = followed.registry
        .state()
        .find((c) => c.type === "service" && c.key.hostname === "reviews.service.dc1.consul");
      assert.deepEqual(service?.type === "service" && service.op === "put" && service.value.ports, [
        { name: "http", number: 9080, protocol: "HTTP" },
      ]);
      await write(url, "/v1/agent/check/update/c", { Status: "warning" });
      await followed.are("r1@dc1:9080 healthy 2");
      await register(url, "r2", { Port: 9081 });
      await followed.are("r1@dc1:9080 healthy 2, r2@dc1:9081 healthy 1");
      await write(url, "/v1/agent/check/update/c", { Status: "critical" });
      await followed.are("r1@dc1:9080 unhealthy 3, r2@dc1:9081 healthy 1");
      await consul.kill();
      await until(() => followed.source.problems().length > 0, { withinMs: 60_000, what: "a word that it is away" });
      assert.match(followed.source.problems()[0]?.reason ?? "", /unreachable since .*, the last known state is kept/);
      assert.equal(followed.endpoints(), "r1@dc1:9080 unhealthy 3, r2@dc1:9081 healthy 1");
      consul = await startConsul({ env, directory, port });
      await write(url, "/v1/agent/service/deregister/r1", {});
      await followed.are("r2@dc1:9081 healthy 1");
      await until(() => followed.source.problems().length === 0, { withinMs: 60_000, what: "no problem" });
      await write(url, "/v1/agent/service/deregister/r2", {});
      await followed.are("");
      const fresh = (await followed.source.list?.(AbortSignal.timeout(10_000))) ?? [];
      assert.deepEqual(
        fresh.flatMap(({ inputs }) =>
          inputs.map((input) => "key" in input && "datacenter" in input.key && input.key.name),
        ),
        ["consul"],
      );
    } finally {
      await consul[Symbol.asyncDispose]();
    }
  });

  it("asks with a token from a file; a new token holds without a restart", async () => {
    const management = "11111111-1111-4111-8111-111111111111";
    const acl = { enabled: true, default_policy: "deny", tokens: { initial_management: management } };
    await using consul = await startConsul({ env, directory: join(root, "acl"), configuration: { acl } });
    await register(consul.url, "r1", {}, management);
    const tokenFile = join(root, "token");
    writeFileSync(tokenFile, "22222222-2222-4222-8222-222222222222\n");
    await using followed = follow(consul.url, { tokenFile, syncTimeoutMs: 100 });
    await until(() => /ACL not found/.test(followed.source.problems()[0]?.reason ?? ""), {
      withinMs: 60_000,
      what: "the refusal of the token",
    });
    writeFileSync(tokenFile, `${management}\n`);
    await followed.are("r1@dc1:9080 healthy 1");
  });

  it("joins two datacenters under one host; one that ends keeps its instances", async () => {
    const [wan1, wan2] = [await freePort(), await freePort()];
    await using one = await startConsul({ env, directory: join(root, "dc1"), wanPort: wan1 });
    const two = await startConsul({
      env,
      directory: join(root, "dc2"),
      datacenter: "dc2",
      wanPort: wan2,
      joinWan: [wan1],
    });
    try {
      await register(one.url, "r1");
      await register(two.url, "r2");
      await using followed = follow(one.url, { datacenters: ["dc1", "dc2"] });
      await followed.are("r1@dc1:9080 healthy 1, r2@dc2:9080 healthy 1");
      await followed.are("r2@dc2:9080 healthy 1", "reviews.service.dc2.consul");
      await two.kill();
      await until(() => followed.source.problems().some(({ object }) => object === "Consul/dc2"), {
        withinMs: 60_000,
        what: "a word that dc2 is away",
      });
      await register(one.url, "r3");
      await followed.are("r1@dc1:9080 healthy 1, r2@dc2:9080 healthy 1, r3@dc1:9080 healthy 1");
    } finally {
      await two[Symbol.asyncDispose]();
    }
  });
});

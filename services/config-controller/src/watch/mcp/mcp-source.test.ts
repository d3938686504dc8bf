import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isIstioKind, kinds } from "@flotilla/kinds";
import { noopLogger, timeLimit, until } from "@flotilla/runtime";
import { grpcTransport } from "@flotilla/xds/grpc";
import type { ConfigGroup } from "../config-source.ts";
import { configAdmission } from "../config-source.ts";
import { mcpNode } from "./mcp-client.ts";
import { McpServer, type ServedObject } from "./mcp-server.fixture.ts";
import { type McpOptions, type McpSource, mcpSource } from "./mcp-source.ts";

const entries = "networking.istio.io/v1/ServiceEntry";
const services = "networking.istio.io/v1/VirtualService";

function entry(name: string, host: string, more: Partial<ServedObject> = {}): ServedObject {
  const spec = { hosts: [host], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" };
  return { name, message: "istio.networking.v1alpha3.ServiceEntry", spec, ...more };
}

interface Following extends AsyncDisposable {
  readonly source: McpSource;
  readonly next: () => Promise<readonly string[]>;
}

function follow(port: number, more: Partial<McpOptions> = {}): Following {
  const stop = new AbortController();
  const source = mcpSource({
    name: `xds://127.0.0.1:${port}`,
    transport: grpcTransport({ address: `127.0.0.1:${port}` }),
    node: mcpNode({ namespace: "istio-system", instance: "test", revision: "default", version: "1.0.0" }),
    kinds: kinds.filter(isIstioKind),
    revision: "default",
    admission: configAdmission(),
    log: noopLogger,
    nowMs: Date.now,
    random: () => 0,
    onProblems: () => undefined,
    quietMs: 50,
    absentMs: 200,
    ...more,
  });
  const groups = source.groups(timeLimit(90_000, stop.signal).signal);
  const iterator = groups[Symbol.asyncIterator]();
  return {
    source,
    next: async () => short(((await iterator.next()) as IteratorYieldResult<ConfigGroup>).value),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await iterator.return?.();
    },
  };
}

function short({ changes, isComplete }: ConfigGroup): readonly string[] {
  const lines = changes.map(({ op, key }) => `${op} ${key.kind}/${key.namespace}/${key.name}`).sort();
  return isComplete === true ? ["complete", ...lines] : lines;
}

function problemsOf(source: McpSource): readonly string[] {
  return source.problems().map(({ object = "", field = "", reason }) => `${object} ${field} ${reason}`);
}

/** Until the silence of the kinds that the server lacks counts: the last complete group. */
async function settle({ next }: Following): Promise<void> {
  assert.deepEqual(await next(), ["complete"]);
}

/** A VirtualService of about 150 kB of JSON. */
function large(name: string): ServedObject {
  const http = Array.from({ length: 1_000 }, (_, at) => ({
    ...{ name: `route-${at}`, match: [{ uri: { exact: `/${at}` } }] },
    route: [{ destination: { host: "a.example" } }],
  }));
  return { name, message: "istio.networking.v1alpha3.VirtualService", spec: { hosts: ["a.example"], http } };
}

describe("configuration of another control plane", () => {
  it("is validated in a thread where an object is large, and the main thread goes on", async () => {
    await using server = await McpServer.start({ delta: "spoken" });
    const wrong = large("shop/wrong");
    const spec = { ...(wrong.spec as object), hosts: ["a b"] };
    server.set(services, [large("shop/good"), { ...wrong, spec }]);
    const admission = configAdmission();
    const aside: string[] = [];
    let [turns, isPreparing] = [0, false];
    const count = (): void => {
      turns++;
      if (isPreparing) setImmediate(count);
    };
    const prepare: typeof admission.prepare = (object) => {
      const verdict = admission.prepare?.(object);
      if (verdict === undefined) return undefined;
      aside.push(object.metadata.name);
      if (!isPreparing) setImmediate(count);
      isPreparing = true;
      return verdict.finally(() => {
        isPreparing = false;
      });
    };
    const check: typeof admission.check = (object) => {
      assert.ok(turns > 10, `${turns} turns of the event loop before the verdict`);
      return admission.check(object);
    };
    await using following = follow(server.port, { admission: { ...admission, prepare, check }, patienceMs: 60_000 });
    assert.deepEqual(await following.next(), ["complete", "put VirtualService/shop/good"]);
    assert.deepEqual(aside.sort(), ["good", "wrong"]);
    assert.match(problemsOf(following.source).join("\n"), /VirtualService\/shop\/wrong spec\.hosts/);
  });

  for (const delta of ["none", "spoken"] as const) {
    it(`is followed from a server that knows some kinds only, delta ${delta}`, async () => {
      await using server = await McpServer.start({ delta });
      server.set(entries, [entry("shop/a", "a.example"), entry("shop/b", "b.example")]);
      await using following = follow(server.port);
      const { source, next } = following;
      assert.deepEqual(await next(), ["complete", "put ServiceEntry/shop/a", "put ServiceEntry/shop/b"]);
      // Objects that the server has not sent may be on the stream from before; those it has sent are all there is.
      assert.equal(source.isIncomplete?.({ kind: "VirtualService", namespace: "shop", name: "x" }), true);
      assert.equal(source.isIncomplete?.({ kind: "ServiceEntry", namespace: "shop", name: "x" }), false);
      assert.equal(source.state().isSynced, false);
      await settle(following);
      assert.equal(source.isIncomplete?.({ kind: "VirtualService", namespace: "shop", name: "x" }), false);
      assert.equal(source.state().isSynced, true);
      assert.ok(problemsOf(source).some((line) => line.includes(`${services} is not answered by the server`)));

      server.set(entries, [entry("shop/b", "b2.example"), entry("shop/c", "c.example")]);
      assert.deepEqual(await next(), [
        "delete ServiceEntry/shop/a",
        "put ServiceEntry/shop/b",
        "put ServiceEntry/shop/c",
      ]);
      // A kind that was not answered may be later.
      server.set(services, []);
      await until(() => !problemsOf(source).some((line) => line.includes(services)), {
        withinMs: 30_000,
        what: "answer",
      });
      const forms = new Set(server.requests.map(({ $typeName }) => $typeName));
      const form = delta === "none" ? "DiscoveryRequest" : "DeltaDiscoveryRequest";
      assert.deepEqual([...forms], [`envoy.service.discovery.v3.${form}`]);
      assert.equal(server.requests[0]?.node?.metadata?.["GENERATOR"], "api");
    });

    it(`refuses objects by name and reason and takes the others, delta ${delta}`, async () => {
      await using server = await McpServer.start({ delta });
      const good = entry("shop/good", "good.example");
      server.set(entries, [
        good,
        entry("unnamed", "x.example"),
        entry("shop/other", "y.example", { message: "istio.networking.v1alpha3.Sidecar", spec: {} }),
        entry("shop/canary", "z.example", { labels: { "istio.io/rev": "canary" } }),
      ]);
      await using following = follow(server.port);
      const { source, next } = following;
      assert.deepEqual(await next(), ["complete", "put ServiceEntry/shop/good"]);
      await settle(following);
      const [first = ""] = server.refusals(entries);
      assert.match(first, /^unnamed: metadata.name "unnamed" is not namespace\/name; shop\/other: body is a istio/);
      // A wrong version keeps the last good one.
      const wrong = entry("shop/good", "", { spec: { hosts: [], resolution: "DNS" } });
      server.set(entries, [wrong, entry("shop/new", "new.example")]);
      assert.deepEqual(await next(), ["put ServiceEntry/shop/new"]);
      await until(() => server.refusals(entries).some((text) => text.startsWith("shop/good: spec.hosts")), {
        withinMs: 30_000,
        what: "the refusal",
      });
      assert.ok(problemsOf(source).some((line) => line.startsWith("ServiceEntry/shop/good spec.hosts")));
      server.set(entries, [good, entry("shop/new", "new.example")]);
      assert.deepEqual(await next(), ["put ServiceEntry/shop/good"]);
      assert.ok(!problemsOf(source).some((line) => line.startsWith("ServiceEntry/")));
      server.set(entries, []);
      assert.deepEqual(await next(), ["delete ServiceEntry/shop/good", "delete ServiceEntry/shop/new"]);
    });
  }

  it("falls back to state of the world when a delta stream stays silent", async () => {
    await using server = await McpServer.start({ delta: "silent" });
    server.set(entries, [entry("shop/a", "a.example")]);
    await using following = follow(server.port, { deltaPatienceMs: 100 });
    assert.deepEqual(await following.next(), ["complete", "put ServiceEntry/shop/a"]);
  });

  it("stays in force while the server is away, and what went meanwhile goes when it is back", async () => {
    let server = await McpServer.start({ delta: "none" });
    server.set(entries, [entry("shop/a", "a.example"), entry("shop/b", "b.example")]);
    await using following = follow(server.port, { kinds: kinds.filter(({ name }) => name === "ServiceEntry") });
    const { source, next } = following;
    assert.deepEqual(await next(), ["complete", "put ServiceEntry/shop/a", "put ServiceEntry/shop/b"]);
    assert.equal(source.state().away, undefined);
    const { port } = server;
    await server[Symbol.asyncDispose]();
    await until(() => source.state().away, { withinMs: 30_000, what: "the loss of the server" });
    assert.match(problemsOf(source).join(), /unreachable/);
    server = await McpServer.start({ delta: "none", port });
    await using _ = server;
    server.set(entries, [entry("shop/b", "b.example")]);
    assert.deepEqual(await next(), ["delete ServiceEntry/shop/a"]);
    assert.deepEqual(problemsOf(source), []);
  });

  it("holds nothing up when the server is away at start: what the stream has of its kinds stays", async () => {
    const gone = await McpServer.start({ delta: "none" });
    await gone[Symbol.asyncDispose]();
    await using following = follow(gone.port, { patienceMs: 50 });
    const { source, next } = following;
    assert.deepEqual(await next(), ["complete"]);
    assert.equal(source.isIncomplete?.({ kind: "ServiceEntry", namespace: "shop", name: "x" }), true);
    assert.equal(source.isIncomplete?.({ kind: "Secret", namespace: "shop", name: "x" }), false);
    await using server = await McpServer.start({ delta: "none", port: gone.port });
    server.set(entries, [entry("shop/a", "a.example")]);
    assert.deepEqual(await next(), ["complete", "put ServiceEntry/shop/a"]);
    assert.equal(source.isIncomplete?.({ kind: "ServiceEntry", namespace: "shop", name: "x" }), false);
  });

  for (const { isRequired, maxAgeMs, blocks } of [
    { isRequired: true, maxAgeMs: undefined, blocks: [true, false] },
    { isRequired: true, maxAgeMs: 1, blocks: [true, true] },
    { isRequired: false, maxAgeMs: 1, blocks: [false, false] },
  ]) {
    const policy = `${isRequired ? "required" : "optional"}, age limit ${maxAgeMs ?? "none"}`;
    it(`counts for readiness before it is synced, and when it is away too long: ${policy}`, async () => {
      const server = await McpServer.start({ delta: "none" });
      const kind = kinds.filter(({ name }) => name === "ServiceEntry");
      await using following = follow(server.port, {
        kinds: kind,
        readiness: { isRequired, maxAgeMs },
        patienceMs: 100,
      });
      const { source, next } = following;
      const blocked = () => source.condition?.()?.blocks ?? false;
      // The server sends nothing: not synced.
      assert.deepEqual(await next(), ["complete"]);
      assert.equal(blocked(), blocks[0]);
      server.set(entries, []);
      await next();
      assert.equal(source.condition?.(), undefined);
      await server[Symbol.asyncDispose]();
      await until(() => source.condition?.() !== undefined, { withinMs: 30_000, what: "the loss of the server" });
      const { away } = source.state();
      await until(() => away !== undefined && Date.now() > away.sinceMs + 5, { withinMs: 30_000, what: "some time" });
      assert.equal(blocked(), blocks[1]);
    });
  }
});

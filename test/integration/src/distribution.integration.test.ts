/**
 * Progress of a change, end to end: five processes, real NATS and Redis, the command line, proxies that are subscribed and a real Envoy
 * that rejects resources it cannot take. `flotilla wait`, `status`, `history` and `diff` report it.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { connectBus } from "@flotilla/bus";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { envoyBootstrap, startEnvoy } from "@flotilla/dataplane";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { noopLogger, until } from "@flotilla/runtime";
import { findServer, freePorts } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { program } from "./local/flotilla.ts";

const run = promisify(execFile);
const workDir = mkdtempSync(join(tmpdir(), "flotilla-distribution-"));
const config = join(workDir, "config");
const stop = new AbortController();
const owned = new AsyncDisposableStack();
const soon = (what: string) => ({ withinMs: 60_000, what });
let plane: ControlPlane;
let clients: readonly XdsClient[];

interface Outcome {
  readonly code: number;
  readonly out: string;
}

async function command(...args: readonly string[]): Promise<Outcome> {
  try {
    const { stdout } = await run(process.execPath, [program, ...args, "--work-dir", workDir]);
    return { code: 0, out: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as {
      readonly code: number;
      readonly stdout: string;
      readonly stderr: string;
    };
    return { code, out: `${stdout}${stderr}` };
  }
}

function save(name: string, ...objects: readonly object[]): void {
  writeFileSync(join(config, `${name}.json`), JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
}

const service = (name: string, namespace: string, clusterIP: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace },
  spec: { clusterIP, ports: [{ name: "http", port: 80 }], selector: { app: name } },
});
const route = (timeout: string) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "web", namespace: "shop" },
  spec: { hosts: ["web"], http: [{ timeout, route: [{ destination: { host: "web" } }] }] },
});
/** Envoy refuses a timeout of 0s; validation does not check what a patch leads to. */
const patch = (connect_timeout: string) => ({
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    configPatches: [
      {
        applyTo: "CLUSTER",
        match: { context: "SIDECAR_OUTBOUND", cluster: { service: "web.shop.svc.cluster.local" } },
        patch: { operation: "MERGE", value: { connect_timeout } },
      },
    ],
  },
});
const policy = (namespace: string) => ({
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name: "none", namespace },
  spec: {},
});

function connect(name: string, namespace: string): XdsClient {
  const metadata = {
    NAMESPACE: namespace,
    LABELS: { app: name },
    INSTANCE_IPS: "127.0.1.11",
    CLUSTER_ID: "Kubernetes",
  };
  const client = new XdsClient({
    form: "delta",
    transport: grpcTransport({ address: `127.0.0.1:${plane.layout.ports.xds}` }),
    node: create(NodeSchema, {
      id: `sidecar~127.0.1.11~${name}.${namespace}~${namespace}.svc.cluster.local`,
      metadata,
    }),
    backoffMs: () => 200,
  });
  client.subscribe(typeUrl.cluster);
  client.subscribe(typeUrl.listener);
  client.subscribe(typeUrl.route, ["80"]);
  const running = client.run(stop.signal);
  owned.defer(() => running);
  return client;
}

async function startPlane(): Promise<ControlPlane> {
  const settings = { LOG_LEVEL: "info" };
  const shared = { embedded: false, config, mesh: undefined, networks: undefined, settings, workDir };
  const options = { ...shared, firstPort: await freePorts(12) };
  const started = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
  await allReady(started, 90_000, () => undefined, stop.signal);
  return started;
}

describe("how far a change has come", () => {
  before(async () => {
    mkdirSync(config, { recursive: true });
    save("services", service("web", "shop", "10.0.0.1"), service("till", "bank", "10.0.0.2"));
    save("routes", route("1s"));
    plane = await startPlane();
    clients = [connect("web", "shop"), connect("cart", "shop"), connect("till", "bank")];
    const isFed = () => clients.every(({ state }) => state.held(typeUrl.route).size > 0);
    await until(isFed, soon("the first routes"));
    // xds-server reports its proxies a moment after it has answered them.
    const isCounted = async () => / of 3 proxies /.test((await command("status", "vs/web.shop")).out);
    await until(isCounted, soon("the first report"));
  });

  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    await plane[Symbol.asyncDispose]();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("wait returns when the proxies have it, and reports the generation", { timeout: 180_000 }, async () => {
    const first = await command("wait", "--for=distribution", "vs/web.shop");
    assert.equal(first.code, 0, first.out);
    assert.match(first.out, /^VirtualService\/shop\/web {2}live on 3 of 3 proxies it concerns {2}generation \d+\n$/);
  });

  it("counts only the proxies that an object concerns", { timeout: 180_000 }, async () => {
    save("policies", policy("bank"));
    const isThere = async () => (await command("status", "AuthorizationPolicy/none.bank")).code === 0;
    await until(isThere, { ...soon("the policy"), everyMs: 200 });
    const waited = await command("wait", "AuthorizationPolicy/none.bank");
    assert.match(waited.out, /live on 1 of 1 proxies it concerns/);
  });

  it("waits for what service-controller makes of an object", { timeout: 180_000 }, async () => {
    for (const round of [1, 2, 3]) {
      const host = `entry-${round}.example`;
      save("entries", {
        ...{
          apiVersion: "networking.istio.io/v1",
          kind: "ServiceEntry",
          metadata: { name: `e${round}`, namespace: "shop" },
        },
        spec: { hosts: [host], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" },
      });
      const waited = await command("wait", `ServiceEntry/e${round}.shop`);
      assert.equal(waited.code, 0, waited.out);
      assert.match(waited.out, /live on 3 of 3 proxies/);
      for (const { state } of clients) assert.ok(state.held(typeUrl.cluster).has(`outbound|80||${host}`), waited.out);
    }
  });

  it("says what there is not, and what was refused before it was reported", { timeout: 180_000 }, async () => {
    const absent = await command("wait", "vs/nothing.shop", "--timeout=300ms");
    assert.deepEqual([absent.code, absent.out], [1, "not live after 300ms: there is no vs/nothing.shop\n"]);
    assert.equal((await command("wait", "virtualservce/web.shop")).code, 2);
    save("routes", { ...route("2s"), spec: { hosts: "web" } });
    const isRefused = async () => (await command("status", "vs/web.shop")).out.includes("refused: spec.hosts");
    await until(isRefused, { ...soon("the refusal"), everyMs: 200 });
    const waited = await command("wait", "vs/web.shop");
    assert.equal(waited.code, 3);
    assert.match(waited.out, /refused, the last good one is {2}live on 3 of 3/);
    save("routes", route("2s"));
    await until(async () => (await command("wait", "vs/web.shop")).code === 0, soon("the good one"));
  });

  it("lists what changed, by whom, and what differs", { timeout: 180_000 }, async () => {
    const listed = await command("history", "vs/web.shop", "--json");
    const { generations } = JSON.parse(listed.out) as { generations: { generation: number; by: string }[] };
    assert.equal(generations.length, 2, listed.out);
    const [second, first] = generations;
    assert.match(second?.by ?? "", /^config-controller [0-9a-f]{8}\/\d+ from \S+ at 20/);
    const diff = await command("diff", `${first?.generation}`, `${second?.generation}`);
    assert.equal(diff.code, 1);
    assert.match(diff.out, /^--- a\/VirtualService\/shop\/web\tgeneration \d+\n\+\+\+ b\/VirtualService\/shop\/web\t/m);
    assert.match(diff.out, /^-.* timeout: 1s\n\+.* timeout: 2s$/m);
  });

  it("names the object behind what a real Envoy refuses, with Envoy's words", { timeout: 180_000 }, async () => {
    const discoveryAddress = `127.0.0.1:${plane.layout.ports.xds}`;
    const node = { name: "envoy", namespace: "shop", serviceAccount: "e", labels: {}, address: "127.0.0.1" };
    const bootstrap = envoyBootstrap({ node, discoveryAddress, delta: true, adminPort: 0 }) as {
      dynamic_resources?: { lds_config?: unknown };
    };
    // Clusters are enough, and ports of listeners may be taken on this host.
    delete bootstrap.dynamic_resources?.lds_config;
    const binary = await findServer("envoy", { env: process.env });
    const envoy = await startEnvoy({ binary, directory: workDir, name: "envoy", bootstrap: bootstrap as never });
    try {
      const isConnected = async () => (await command("wait", "vs/web.shop")).out.includes("live on 3 of 3");
      await until(isConnected, { ...soon("Envoy to have its clusters"), everyMs: 300 });
      save("patches", patch("0s"));
      const status = async () => (await command("status", "EnvoyFilter/web.shop")).out;
      await until(async () => (await status()).includes("refused by envoy.shop"), {
        ...soon("the refusal"),
        everyMs: 200,
      });
      assert.match(await status(), /refused by envoy\.shop \(Cluster\): .*outbound\|80\|\|web\.shop.*ConnectTimeout/);
      const waited = await command("wait", "EnvoyFilter/web.shop");
      assert.equal(waited.code, 3, waited.out);
      assert.equal((await command("wait", "EnvoyFilter/web.shop", "--threshold=60")).code, 0);
      assert.equal((await command("wait", "vs/web.shop")).code, 0, "a refusal concerns no other proxy");
      save("patches", patch("1s"));
      const isLive = async () => (await command("wait", "EnvoyFilter/web.shop", "--timeout=5s")).code === 0;
      await until(isLive, soon("the patch that Envoy takes"));
    } finally {
      await envoy[Symbol.asyncDispose]();
    }
  });

  it("a restart of everything with nothing changed publishes nothing and keeps the history", {
    timeout: 180_000,
  }, async () => {
    const stored = async () => {
      const url = plane.environment("xds-server")["BUS_URL"] ?? "";
      await using bus = await connectBus({ url, clientName: "xds-server", log: noopLogger }, stop.signal);
      const values = await bus.lastValues("flotilla.v1.config.>");
      return values.map(({ subject, sequence }) => `${subject} ${sequence}`);
    };
    const before = await stored();
    const history = (await command("history")).out;
    await plane[Symbol.asyncDispose]();
    plane = await startPlane();
    assert.deepEqual(await stored(), before);
    assert.equal((await command("history")).out, history);
  });
});

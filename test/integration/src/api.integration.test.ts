/**
 * A mesh without Kubernetes that is written over the API: five processes, real NATS and Redis, the command line, a proxy that is
 * subscribed. The objects of one apply reach the proxy together; a restart of everything loses nothing.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { openLocalIssuer } from "@flotilla/auth";
import { connectBus, filters, subscribe } from "@flotilla/bus";
import { allReady, type ControlPlane, healthUrlOf, startControlPlane } from "@flotilla/cli/testing";
import { bytesToJson, create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { noopLogger, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { program } from "./local/flotilla.ts";

const run = promisify(execFile);
const workDir = mkdtempSync(join(tmpdir(), "flotilla-api-"));
const config = join(workDir, "config");
const stop = new AbortController();
const soon = (what: string) => ({ withinMs: 60_000, what });

const services = ["web", "db"].map((name) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "shop" },
  spec: {
    clusterIP: name === "web" ? "10.0.0.1" : "10.0.0.2",
    ports: [{ name: "http", port: 80 }],
    selector: { app: name },
  },
}));
const virtualService = (name: string, timeout: string) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name, namespace: "shop" },
  spec: { hosts: [name], http: [{ timeout, route: [{ destination: { host: name } }] }] },
});

let plane: ControlPlane;
let client: XdsClient;
let running: Promise<void>;

async function start(): Promise<ControlPlane> {
  const firstPort = await freePorts(12);
  const options = {
    embedded: false,
    config,
    mesh: undefined,
    networks: undefined,
    settings: {},
    firstPort,
    workDir,
  };
  const started = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
  try {
    await allReady(started, 90_000, () => undefined, stop.signal);
    return started;
  } catch (error) {
    await started[Symbol.asyncDispose]();
    throw error;
  }
}

async function command(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [program, ...args, "--work-dir", workDir]);
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as {
      readonly code: number;
      readonly stdout: string;
      readonly stderr: string;
    };
    return { code, out: stdout, err: stderr };
  }
}

function applyObjects(...objects: readonly object[]) {
  const file = join(workDir, "objects.json");
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  return command("apply", "-f", file);
}

/** The route of port 80 as the proxy has it. */
function route(): string {
  const found = client.state.held(typeUrl.route).get("80");
  return found === undefined ? "" : JSON.stringify(bytesToJson(typeUrl.route, found.bytes));
}

async function findKubectl(): Promise<boolean> {
  try {
    await run("kubectl", ["version", "--client"]);
    return true;
  } catch {
    process.stderr.write("SKIPPED: there is no kubectl in PATH that could speak to the API\n");
    return false;
  }
}
const hasKubectl = await findKubectl();

/** With nothing of the user's own configuration. */
async function kubectl(...args: readonly string[]): Promise<string> {
  const page = (await (await fetch(`${healthUrlOf("config-controller", workDir)}/debug/api`)).json()) as {
    readonly url: string;
  };
  const issuer = await openLocalIssuer(workDir);
  const account = { namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" };
  const token = await issuer.mintToken(account);
  const root = join(workDir, "root-cert.pem");
  const place = [
    "--server",
    page.url,
    "--certificate-authority",
    root,
    "--token",
    token,
    "--cache-dir",
    join(workDir, "kubectl"),
  ];
  const { stdout } = await run("kubectl", [...place, ...args], { env: { ...process.env, KUBECONFIG: "/dev/null" } });
  return stdout;
}

describe("a mesh that is written over the API", () => {
  before(async () => {
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, "services.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items: services }));
    plane = await start();
    const metadata = {
      NAMESPACE: "shop",
      LABELS: { app: "web" },
      INSTANCE_IPS: "127.0.1.11",
      CLUSTER_ID: "Kubernetes",
    };
    client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address: `127.0.0.1:${plane.layout.ports.xds}` }),
      node: create(NodeSchema, { id: "sidecar~127.0.1.11~web.shop~shop.svc.cluster.local", metadata }),
      backoffMs: () => 200,
    });
    client.subscribe(typeUrl.cluster);
    client.subscribe(typeUrl.listener);
    client.subscribe(typeUrl.route, ["80"]);
    running = client.run(stop.signal);
    await until(() => route() !== "", soon("the first routes"));
    const isOpen = async () => (await command("get", "virtualservices", "-A")).code === 0;
    await until(isOpen, soon("the API"));
  });

  after(async () => {
    stop.abort();
    await running;
    await plane[Symbol.asyncDispose]();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("applied objects reach the proxy, those of one apply together", {
    timeout: 180_000,
  }, async () => {
    const reading = new AbortController();
    const url = plane.environment("xds-server")["BUS_URL"] ?? "";
    await using bus = await connectBus({ url, clientName: "xds-server", log: noopLogger }, reading.signal);
    const groups: string[] = [];
    const items = subscribe({ bus, filter: filters.config, afterSequence: 0, seal: undefined }, reading.signal);
    const following = (async () => {
      for await (const item of items)
        if (item.kind === "group")
          groups.push(
            item.group.changes
              .map(({ key }) => ("kind" in key && "name" in key ? `${key.kind}/${key.name}` : ""))
              .sort()
              .join(" "),
          );
    })();
    const applied = await applyObjects(virtualService("web", "7s"), virtualService("db", "9s"));
    assert.deepEqual(
      [applied.code, applied.out],
      [0, "VirtualService shop/web created\nVirtualService shop/db created\n"],
    );
    await until(() => route().includes('"7s"') && route().includes('"9s"'), soon("both routes"));
    // The proxy may be ahead of the subscriber here.
    const isTogether = () => groups.includes("VirtualService/db VirtualService/web");
    await until(isTogether, soon("the group of both")).catch((cause: unknown) => {
      throw new Error(groups.join(", "), { cause });
    });
    reading.abort();
    await following;
  });

  it("refused objects are reported with their place, and the last good version stays", {
    timeout: 180_000,
  }, async () => {
    const wrong = { ...virtualService("web", "1s"), spec: { hosts: "web" } };
    const refused = await applyObjects(virtualService("db", "1s"), wrong);
    assert.equal(refused.code, 3);
    assert.match(refused.err, /objects\.json:1 VirtualService shop\/web: spec\.hosts/);
    const { out } = await command("get", "vs", "db", "-n", "shop", "-o", "yaml");
    assert.match(out, /timeout: 9s/);
    assert.ok(route().includes('"7s"') && route().includes('"9s"'));
  });

  it("is written by kubectl too", { timeout: 180_000, skip: !hasKubectl && "no kubectl in PATH" }, async () => {
    const file = join(workDir, "kubectl.json");
    const write = (timeout: string) => writeFileSync(file, JSON.stringify(virtualService("web", timeout)));
    write("3s");
    assert.match(await kubectl("apply", "--server-side", "--force-conflicts", "-f", file), /web serverside-applied/);
    await until(() => route().includes('"3s"'), soon("the route"));
    assert.match(await kubectl("get", "vs", "-A"), /shop +db .*\nshop +web /);
    await kubectl("label", "vs/web", "-n", "shop", "tier=front");
    assert.match(
      await kubectl("get", "vs", "-n", "shop", "-l", "tier=front", "-o", "name"),
      /^virtualservice[^\n]*\/web\n$/,
    );
    await kubectl("delete", "vs", "web", "-n", "shop");
    write("4s");
    assert.match(await kubectl("apply", "-f", file), /web created/);
    assert.match(await kubectl("apply", "-f", file), /web unchanged/);
    await until(() => route().includes('"4s"'), soon("the route of client-side apply"));
    write("5s");
    assert.match(await kubectl("apply", "--dry-run=server", "-f", file), /configured \(server dry run\)/);
    writeFileSync(file, JSON.stringify({ ...virtualService("web", "5s"), spec: { hosts: "web" } }));
    await assert.rejects(kubectl("apply", "-f", file), /spec\.hosts/);
    assert.ok(route().includes('"4s"'));
  });

  it("outlives a restart of everything", { timeout: 180_000 }, async () => {
    await plane[Symbol.asyncDispose]();
    plane = await start();
    const isThere = async () => (await command("get", "vs", "-A")).out.includes("web");
    await until(isThere, soon("the objects"));
    const gone = await command("delete", "virtualservice", "web", "-n", "shop");
    assert.deepEqual([gone.code, gone.out], [0, "VirtualService shop/web deleted\n"]);
    assert.match((await command("get", "vs", "-A")).out, /^NAMESPACE.*\nshop +db +\d+s +api version 1\n$/);
  });
});

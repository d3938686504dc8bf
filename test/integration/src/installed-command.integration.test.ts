/**
 * The package that `npm pack` makes, installed into an empty directory: the control plane, objects, and a proxy of one's own by a command
 * that is independent of the workspace. pilot-agent is tested where PILOT_AGENT names it.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isAlive } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { findServer, freePort, freePorts } from "@flotilla/servers";

const execute = promisify(execFile);
const cliPackage = fileURLToPath(new URL("../../../packages/cli", import.meta.url));
// Short: sockets of proxies stand in it.
const home = mkdtempSync(join(tmpdir(), "fl-"));
const workDir = join(home, "work");
const program = join(home, "node_modules/.bin/flotilla");
const env = { ...process.env, FLOTILLA_WORK_DIR: workDir };
const agent = process.env["PILOT_AGENT"];
const noAgent = agent === undefined ? "PILOT_AGENT names no binary: this client was NOT tested" : !existsSync(agent);
const owned = new AsyncDisposableStack();

// Not a privileged port: a proxy that redirects nothing binds it, also for an ordinary user.
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 18480 }], selector: { app: "web" } },
};
const route = (name: string, timeout: string, hosts: unknown = ["web"]) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name, namespace: "shop" },
  spec: { hosts, http: [{ timeout, route: [{ destination: { host: "web" } }] }] },
});

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function flotilla(...args: readonly string[]): Promise<Outcome> {
  try {
    const { stdout, stderr } = await execute(program, args, { cwd: home, env });
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

/** A command that goes on until it is stopped; `text` has what it printed. */
function start(...args: readonly string[]): { readonly child: ChildProcess; text(): string } {
  let text = "";
  const child = spawn(program, args, { cwd: home, env, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      text += String(chunk);
    });
  owned.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  return { child, text: () => text };
}

async function untilPrinted(
  started: ReturnType<typeof start>,
  wanted: RegExp,
  withinMs: number,
): Promise<RegExpExecArray> {
  const look = () => {
    if (started.child.exitCode !== null) throw new Error(`it ended with ${started.child.exitCode}: ${started.text()}`);
    return wanted.exec(started.text()) ?? undefined;
  };
  return until(look, { withinMs, what: `${wanted}` });
}

const isSynced = async (proxy: string): Promise<boolean> => {
  const { out } = await flotilla("status");
  return new RegExp(`^ *${proxy} +synced +synced`, "m").test(out);
};

describe("the installed command", () => {
  before(async () => {
    const { stdout } = await execute("npm", ["pack", "--json", "--pack-destination", home], { cwd: cliPackage });
    const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf("["))) as [{ readonly filename: string }];
    writeFileSync(join(home, "package.json"), "{}");
    await execute("npm", ["install", "--no-audit", "--no-fund", join(home, filename)], { cwd: home });
  });
  after(async () => {
    await owned.disposeAsync();
    rmSync(home, { recursive: true, force: true });
    rmSync(join(cliPackage, "dist"), { recursive: true, force: true });
  });

  it("shows its version and help", async () => {
    assert.match((await flotilla("version")).out, /^flotilla \d/);
    assert.match((await flotilla("gte")).err, /Did you mean get\?/);
    const page = readFileSync(join(home, "node_modules/flotilla/dist/man/flotilla-ca-rotate.1"), "utf8");
    assert.equal(page, (await flotilla("man", "ca", "rotate")).out);
  });

  it("answers a file of settings that is not there by itself", async () => {
    const { code, err } = await flotilla("up", "--env-file", "/no/such.env");
    assert.equal(code, 2, err);
    assert.match(err, /^flotilla: .*--env-file.*\/no\/such\.env/);
  });

  it("serves in one process, and ends by a signal", { timeout: 180_000 }, async () => {
    const directory = ["--work-dir", join(home, "embedded")];
    const firstPort = await freePorts(12);
    const up = start("up", "--embedded", "--xds-port", String(firstPort), ...directory);
    await untilPrinted(up, /ready after/, 90_000);
    assert.equal((await flotilla("status", ...directory)).code, 0);
    up.child.kill("SIGTERM");
    const [code] = await once(up.child, "exit");
    assert.equal(code, 0);
    assert.equal((await flotilla("status", ...directory)).code, 4);
  });

  describe("with real servers", () => {
    before(
      async () => {
        mkdirSync(join(home, "mesh"));
        writeFileSync(
          join(home, "mesh/web.json"),
          JSON.stringify({ apiVersion: "v1", kind: "List", items: [service, route("a", "1s")] }),
        );
        writeFileSync(join(home, "b.json"), JSON.stringify(route("b", "2s")));
        const firstPort = await freePorts(12);
        await untilPrinted(start("up", "--config", "mesh", "--xds-port", String(firstPort)), /ready after/, 120_000);
      },
      { timeout: 180_000 },
    );

    it("writes objects, and names the file of those that it may not delete", { timeout: 180_000 }, async () => {
      const isOpen = async () => (await flotilla("get", "vs", "-A")).code === 0;
      await until(isOpen, { withinMs: 60_000, what: "the API" });
      assert.equal((await flotilla("apply", "-f", "b.json")).out, "VirtualService shop/b created\n");
      assert.match(
        (await flotilla("get", "vs", "a", "b", "-n", "shop", "-o", "name")).out,
        /^virtualservice\/a\n.*\/b\n$/,
      );
      const missing = await flotilla("get", "vs", "b", "none", "-n", "shop");
      assert.equal(missing.code, 1);
      assert.match(missing.err, /VirtualService "none" not found/);
      const kept = await flotilla("delete", "vs", "a", "-n", "shop");
      assert.equal(kept.code, 1);
      assert.match(kept.err, /belongs to the file .*mesh\/web\.json:1\. Remove it from the file/);
      assert.match(
        (await flotilla("get", "svc", "-n", "shop")).out,
        /^shop +web\.shop\.svc\.cluster\.local +10\.0\.0\.1 +18480\/HTTP/m,
      );
    });

    it("shows who wrote, and what differs", { timeout: 180_000 }, async () => {
      const listed = await flotilla("history", "VirtualService/b.shop");
      const [, generation = ""] = /^(\d+) .*istio-system\/flotilla-admin \(API\) +created/m.exec(listed.out) ?? [];
      assert.notEqual(generation, "", listed.out);
      const diff = await flotilla("diff", String(Number(generation) - 1), generation);
      assert.equal(diff.code, 1);
      assert.match(diff.out, /^--- \/dev\/null.*\n\+\+\+ b\/VirtualService\/shop\/b\tgeneration/);
    });

    it("ends quietly when its reader does", { timeout: 180_000 }, async () => {
      const { stdout, stderr } = await execute("/bin/sh", ["-c", `"${program}" get vs -A -o yaml | head -1`], { env });
      assert.deepEqual([stdout, stderr], ["apiVersion: v1\n", ""]);
    });

    it("has exit codes for refused objects and a certificate that it may not have", { timeout: 180_000 }, async () => {
      const file = join(home, "mesh/wrong.json");
      writeFileSync(file, JSON.stringify(route("wrong", "1s", "web")));
      const isRefused = async () => (await flotilla("status")).code === 3;
      await until(isRefused, { withinMs: 60_000, what: "the refusal", everyMs: 300 });
      const { problems } = JSON.parse((await flotilla("status", "-o", "json")).out) as {
        problems: { field: string }[];
      };
      assert.equal(problems[0]?.field, "spec.hosts");
      rmSync(file);
      const { ports } = JSON.parse(readFileSync(join(workDir, "flotilla.json"), "utf8")) as { ports: { ca: number } };
      const account = ["-n", "istio-system", "--service-account", "flotilla-nats", "--name", "istiod.istio-system.svc"];
      const where = ["--ca", `127.0.0.1:${ports.ca}`, "--out", join(home, "certificate")];
      const refused = await flotilla("certificate", ...account, ...where, "--once");
      assert.equal(refused.code, 3, refused.err);
    });

    it("keeps a stock Envoy in the mesh, by its certificate", { timeout: 180_000 }, async () => {
      const proxy = start("proxy", "run", "--name", "web", "-n", "shop", "--label", "app=web");
      const pid = Number((await untilPrinted(proxy, /pid (\d+)/, 60_000))[1]);
      await until(() => isSynced("web.shop"), { withinMs: 60_000, what: "the proxy", everyMs: 300 });
      assert.match((await flotilla("proxy-status")).out, /^web\.shop +\S+ +SYNCED +SYNCED /m);
      const { code, out } = await flotilla("proxy-config", "clusters", "web.shop");
      assert.equal(code, 0);
      assert.match(out, /^SERVICE FQDN +PORT .*\n(?:.*\n)*BlackHoleCluster +- +- +- +STATIC$/m);
      process.kill(pid, "SIGKILL");
      const again = Number((await untilPrinted(proxy, /started again \(process (\d+)/, 20_000))[1]);
      assert.notEqual(again, pid);
      proxy.child.kill("SIGKILL");
      await until(() => !isAlive(again), { withinMs: 60_000, what: "the end of Envoy with its launcher" });
    });

    it("writes a bootstrap with which a stock Envoy connects by its token", { timeout: 180_000 }, async () => {
      const adminPort = await freePort();
      const out = join(home, "till");
      const account = ["--name", "till", "-n", "shop", "--service-account", "till"];
      const written = await flotilla(
        "proxy",
        "bootstrap",
        ...account,
        "--out",
        out,
        "--admin-port",
        String(adminPort),
        "--json",
      );
      assert.equal(written.code, 0, written.err);
      const envoy = await findServer("envoy", { env: process.env });
      const args = ["-c", join(out, "envoy.json"), "--disable-hot-restart", "--log-level", "error"];
      const child = spawn(envoy, args, { stdio: "ignore" });
      owned.defer(() => void child.kill("SIGKILL"));
      await until(async () => /till\.shop +synced/.test((await flotilla("status")).out), {
        ...{ withinMs: 60_000, what: "the proxy", everyMs: 300 },
      });
    });

    it("keeps pilot-agent with a stock Envoy in the mesh", { timeout: 120_000, skip: noAgent }, async () => {
      start("proxy", "run", "--for", "pilot-agent", "--name", "bank", "-n", "shop");
      await until(() => isSynced("bank.shop"), { withinMs: 60_000, what: "the proxy", everyMs: 300 });
    });
  });
});

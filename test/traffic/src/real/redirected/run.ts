/**
 * `run.ts delta|sotw`, within a namespace of its own: the control plane, one real Envoy and back ends; calls of the
 * workload and calls to it. Prints a JSON line for each check: its name, and its failure if it failed.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProxy } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { findServer } from "@flotilla/servers";
import { startEmbedded, writeWhole } from "../embedded.ts";
import { serveAnything } from "./backends.ts";
import { get, say } from "./calls.ts";
import { addresses, backends, mesh, registryOnly, strict, workloadPorts } from "./mesh.ts";
import { redirectConnections, workloadAddress } from "./namespace.ts";

const { web, auto, queue, unknown } = addresses;

redirectConnections();
await Promise.all([
  serveAnything("web", backends.web, 8080),
  serveAnything("auto", backends.auto, 7000),
  serveAnything("queue", backends.queue, 7000),
  serveAnything("unknown", unknown, 80),
  serveAnything("unknown", unknown, 7000),
  serveAnything("unknown", unknown, 1234),
  ...Object.values(workloadPorts).map((port) => serveAnything("app", workloadAddress, port)),
]);

const owned = new AsyncDisposableStack();
const workDir = mkdtempSync(join(tmpdir(), "flotilla-redirected-"));
owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
const config = join(workDir, "mesh");
mkdirSync(config);
writeWhole(join(config, "mesh.yaml"), mesh);
const { layout } = owned.use(await startEmbedded(workDir, config));
const node = {
  name: "app",
  namespace: "shop",
  serviceAccount: "app",
  labels: { app: "app" },
  address: workloadAddress,
  interception: "REDIRECT",
} as const;
const binary = await findServer("envoy", { env: process.env });
const envoy = await startProxy(binary, node, layout, owned, process.argv[2] === "delta");
await envoy.ready(60_000);

/** Writes an object for the time of the checks, which wait until it has taken effect. */
async function withObject(yaml: string, checks: () => Promise<void>): Promise<void> {
  const file = join(config, "extra.yaml");
  writeWhole(file, yaml);
  await checks();
  rmSync(file);
}

const soon = (what: string) => ({ withinMs: 10_000, what });

const checks: Readonly<Record<string, () => Promise<void>>> = {
  "a service is called by its address": async () => {
    assert.equal(await get(web, 80, "web.example.com"), "web");
    assert.equal(await say(queue, 7000), "tcp queue");
  },
  "a port without a protocol carries HTTP, by its routes, and anything else": async () => {
    assert.equal(await get(auto, 7000, "auto.example.com"), "auto");
    assert.equal(await get(auto, 7000, "auto.example.com", "/gone"), "410");
    assert.equal(await say(auto, 7000), "tcp auto");
  },
  "ALLOW_ANY lets unknown destinations pass, on ports of services too": async () => {
    assert.equal(await get(unknown, 80, "unknown.example"), "unknown");
    assert.equal(await say(unknown, 7000), "tcp unknown");
    assert.equal(await say(unknown, 1234), "tcp unknown");
  },
  "REGISTRY_ONLY refuses the same and lets known services pass": () =>
    withObject(registryOnly, async () => {
      await until(async () => (await get(unknown, 80, "unknown.example")) === "502", soon("502 for an unknown host"));
      await until(async () => (await say(unknown, 1234)) === "closed", soon("unknown connections to be closed"));
      assert.equal(await say(unknown, 7000), "closed");
      assert.equal(await get(web, 80, "web.example.com"), "web");
      assert.equal(await say(queue, 7000), "tcp queue");
    }),
  "PERMISSIVE takes plain text, on undeclared ports too": async () => {
    assert.equal(await get(workloadAddress, workloadPorts.app, "app.example.com"), "app");
    assert.equal(await say(workloadAddress, workloadPorts.unnamed), "tcp app");
  },
  "STRICT refuses plain text on all ports": () =>
    withObject(strict, async () => {
      const app = () => get(workloadAddress, workloadPorts.app, "app.example.com");
      await until(async () => (await app()) === "closed", soon("plain text to be refused"));
      await until(
        async () => (await say(workloadAddress, workloadPorts.unnamed)) === "closed",
        soon("plain text to be refused on undeclared ports"),
      );
    }),
  "nothing was rejected": async () => {
    const rejected = [...(await envoy.stats(/update_rejected/))].filter(([, count]) => count > 0);
    assert.deepEqual(rejected, []);
  },
};

for (const [name, check] of Object.entries(checks)) {
  const failure = await check().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  process.stdout.write(`${JSON.stringify({ name, failure })}\n`);
}
await owned.disposeAsync();
// Back ends listen for as long as the process lives.
process.exit(0);

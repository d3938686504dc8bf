/** One control plane reads the configuration of another over mutual TLS, with a certificate from ca, also over its absence. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connectBus, filters } from "@flotilla/bus";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { main as runConfigController } from "@flotilla/config-controller";
import { noopLogger, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";

const busUrl = "embedded:the-second-mesh";

function virtualService(name: string, host: string): string {
  return `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${name}, namespace: shop}
spec: {hosts: [${host}], http: [{route: [{destination: {host: ${host}}}]}]}
`;
}

describe("configuration of another control plane", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-sources-"));
  const configDir = mkdtempSync(join(tmpdir(), "flotilla-config-"));
  const meshFile = join(workDir, "second-mesh.yaml");
  const stop = new AbortController();
  const owned = new AsyncDisposableStack();
  let plane: ControlPlane;
  let page: string;
  let second: { readonly end: () => Promise<void> };

  function startSecond(port: number): typeof second {
    const end = new AbortController();
    const env = {
      BUS_URL: busUrl,
      MESH_CONFIG_FILE: meshFile,
      WORK_DIR: workDir,
      CA_ADDRESS: `127.0.0.1:${plane.layout.ports.ca}`,
      HEALTH_HOST: "127.0.0.1",
      HEALTH_PORT: String(port),
      LOG_LEVEL: "silent",
    };
    page = `http://127.0.0.1:${port}`;
    const running = runConfigController(env, end.signal);
    return {
      end: () => {
        end.abort(new Error("ended by the test"));
        return running;
      },
    };
  }

  const read = async (path: string) =>
    (await fetch(`${page}${path}`)).json() as Promise<Readonly<Record<string, unknown>>>;
  const holds = async (...texts: readonly string[]) => {
    const objects = JSON.stringify((await read("/debug/configz"))["objects"]);
    return texts.every((text) => objects.includes(text));
  };
  const isReady = async () => (await read("/ready"))["ready"] === true;
  const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });

  before(async () => {
    writeFileSync(join(configDir, "web.yaml"), virtualService("web", "web.example"));
    const options = {
      ...{ workDir, config: configDir, mesh: undefined, networks: undefined },
      embedded: true,
      firstPort: await freePorts(12),
      settings: { LOG_LEVEL: "silent" },
    };
    plane = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
    await allReady(plane, 90_000, () => undefined, stop.signal);
    const address = `xds://127.0.0.1:${plane.layout.ports.xdsTls}`;
    const tls = "{mode: ISTIO_MUTUAL, sni: istiod.istio-system.svc}";
    writeFileSync(meshFile, `configSources: [{address: "${address}", tlsSettings: ${tls}}]\n`);
    // The embedded bus lives as long as somebody is connected to it.
    owned.use(await connectBus({ url: busUrl, clientName: "test", log: noopLogger }, stop.signal));
    second = startSecond(await freePorts(1));
  });
  after(async () => {
    await second.end();
    await owned.disposeAsync();
    for (const directory of [workDir, configDir]) rmSync(directory, { recursive: true, force: true });
  });

  it("is taken, and followed", async () => {
    await until(() => holds("web.example"), soon("the first object"));
    const objects = JSON.stringify(await read("/debug/configz"));
    assert.match(objects, /"source":"mcp","location":"xds:\/\/127.0.0.1:\d+@[0-9a-f]{32}"/);
    writeFileSync(join(configDir, "api.yaml"), virtualService("api", "api.example"));
    writeFileSync(join(configDir, "web.yaml"), virtualService("web", "new.example"));
    await until(() => holds("api.example", "new.example"), soon("the change"));
    await until(isReady, soon("readiness"));
  });

  it("stays while the other one is away, over a restart of the reader too", async () => {
    await plane[Symbol.asyncDispose]();
    const isAway = async () => JSON.stringify(await read("/debug/problems")).includes("unreachable");
    await until(isAway, soon("the loss to be reported"));
    assert.ok(await holds("api.example", "new.example"));
    await until(isReady, soon("readiness: what was reported before counts"));

    await second.end();
    second = startSecond(await freePorts(1));
    const isSaid = async () => JSON.stringify(await read("/ready")).includes("unreachable");
    await until(isSaid, soon("readiness to report the source"));
    // A required source: who has not heard of it since the start is not ready, and takes nothing back.
    await until(async () => (await read("/ready"))["state"] === "ready", soon("what there is to be published"));
    assert.equal(await isReady(), false);
    const bus = owned.use(await connectBus({ url: busUrl, clientName: "reader", log: noopLogger }, stop.signal));
    const subjects = (await bus.lastValues(filters.config)).map(({ subject }) => subject).join();
    assert.match(subjects, /VirtualService/);
  });
});

/**
 * A Wasm module on its way: a WasmPlugin, an unmodified pilot-agent that fetches the module, and an Envoy that runs it. Runs where
 * PILOT_AGENT names the agent, as a user that may write where agents keep modules.
 */
import assert from "node:assert/strict";
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { allReady, startControlPlane } from "@flotilla/cli/testing";
import { startEchoServer, startPilotAgent } from "@flotilla/dataplane";
import { delay, until } from "@flotilla/runtime";
import { findServer, freePort, freePorts } from "@flotilla/servers";
import { headerModule } from "./wasm/header-module.ts";

const namespace = "shop";
const service = "back.shop.svc.cluster.local";
/** An agent keeps modules there, wherever it runs, and does not make the directory: where it is missing, requests are refused. */
const modules = "/var/lib/istio/data";

function reasonToSkip(): false | string {
  const binary = process.env["PILOT_AGENT"];
  if (binary === undefined) return "PILOT_AGENT names no binary: Wasm modules were NOT tested";
  if (!existsSync(binary)) return `PILOT_AGENT=${binary} does not exist: Wasm modules were NOT tested`;
  try {
    accessSync(existsSync(modules) ? modules : "/var/lib", constants.W_OK);
    return false;
  } catch {
    return `this user may not write ${modules}: Wasm modules were NOT tested`;
  }
}
const skip = reasonToSkip();
if (skip !== false) console.warn(`      ${skip}`);

describe("a Wasm module", { skip }, () => {
  const workDir = mkdtempSync(join(tmpdir(), "fl-"));
  const owned = new AsyncDisposableStack();
  const config = join(workDir, "mesh");
  const fetched: string[] = [];
  let [listener, moduleServer] = [0, 0];

  const write = (file: string, ...objects: readonly object[]) => {
    const text = objects.map((one) => JSON.stringify(one)).join("\n---\n");
    writeFileSync(join(workDir, file), text);
    renameSync(join(workDir, file), join(config, file));
  };
  const plugin = (module: string) =>
    write("plugin.yaml", {
      ...{ apiVersion: "extensions.istio.io/v1alpha1", kind: "WasmPlugin", metadata: { name: "marks", namespace } },
      spec: {
        ...{ selector: { matchLabels: { app: "web" } }, match: [{ mode: "CLIENT" }] },
        url: `http://127.0.0.1:${moduleServer}/${module}.wasm`,
      },
    });

  /** Status and the module's header of a request through the proxy. */
  const call = () =>
    new Promise<readonly [status: number, marked: string]>((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port: listener, headers: { host: `${service}:${listener}` } });
      sent.on("response", (response) => {
        response.resume();
        response.on("end", () => resolve([response.statusCode ?? 0, String(response.headers["x-wasm"] ?? "")]));
      });
      sent.on("error", reject);
      sent.end();
    });

  before(async () => {
    const made = mkdirSync(modules, { recursive: true });
    owned.defer(() => {
      if (made !== undefined) rmSync(made, { recursive: true, force: true });
    });
    mkdirSync(config);
    const backend = owned.use(await startEchoServer("v1"));
    const server = createServer(({ url = "" }, response) => {
      fetched.push(url);
      response.end(headerModule("x-wasm", `from ${url}`));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    owned.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
    moduleServer = (server.address() as AddressInfo).port;
    listener = await freePort();
    const port = { number: listener, name: "http", protocol: "HTTP" };
    const networking = "networking.istio.io/v1";
    write(
      "mesh.yaml",
      {
        ...{ apiVersion: networking, kind: "ServiceEntry", metadata: { name: "back", namespace } },
        spec: {
          ...{ hosts: [service], location: "MESH_EXTERNAL", resolution: "STATIC", ports: [port] },
          endpoints: [{ address: "127.0.0.1", ports: { http: backend.port } }],
        },
      },
      {
        ...{ apiVersion: networking, kind: "Sidecar", metadata: { name: "web", namespace } },
        spec: {
          workloadSelector: { labels: { app: "web" } },
          egress: [{ port, bind: "127.0.0.1", captureMode: "NONE", hosts: ["./*"] }],
        },
      },
    );
    plugin("first");
    const settings = Object.fromEntries(
      Object.entries({ ...process.env, LOG_LEVEL: "error" }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    );
    const options = {
      ...{ workDir, config, mesh: undefined, networks: undefined },
      ...{ embedded: true, firstPort: await freePorts(20), settings },
    };
    const plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    plane.ended.catch(() => undefined);
    await allReady(plane, 90_000, () => undefined, new AbortController().signal);
    const node = { name: "web", namespace, serviceAccount: "web", labels: { app: "web" }, address: "192.0.2.1" };
    const issuer = await openLocalIssuer(workDir);
    const ports = await freePorts(2);
    const agent = owned.use(
      await startPilotAgent({
        binary: process.env["PILOT_AGENT"] ?? "",
        envoy: await findServer("envoy", { env: process.env }),
        directory: join(workDir, "web"),
        ...{ node, discoveryName: "istiod.istio-system.svc", certificateTtl: "1h" },
        discoveryAddress: `127.0.0.1:${plane.layout.ports.xdsTls}`,
        rootFile: join(workDir, "root-cert.pem"),
        token: await issuer.mintToken({ namespace, serviceAccount: node.serviceAccount }),
        ...{ adminPort: ports, statusPort: ports + 1 },
      }),
    );
    await agent.ready(60_000);
  });
  after(async () => {
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("is fetched by the agent, and Envoy runs it", async () => {
    const [status, marked] = await until(
      async () => {
        const answer = await call().catch(() => undefined);
        return answer?.[0] === 200 ? answer : undefined;
      },
      { withinMs: 60_000, what: "an answer" },
    );
    assert.deepEqual([status, marked], [200, "from /first.wasm"]);
    assert.deepEqual(fetched, ["/first.wasm"]);
  });

  it("is replaced by another without a failed request", async () => {
    const answers = new Set([(await call()).join(" ")]);
    plugin("second");
    await until(
      async () => {
        const answer = (await call()).join(" ");
        answers.add(answer);
        await delay(5, new AbortController().signal);
        return answer === "200 from /second.wasm";
      },
      { withinMs: 60_000, what: "the second module", everyMs: 1 },
    );
    assert.deepEqual([...answers], ["200 from /first.wasm", "200 from /second.wasm"]);
  });
});

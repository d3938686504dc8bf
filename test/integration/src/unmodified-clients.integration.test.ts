/**
 * Clients as they are shipped for Istio, against the secure port: pilot-agent with a stock Envoy, and istioctl. They run
 * where PILOT_AGENT and ISTIOCTL name their binaries.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate } from "@flotilla/auth/serving";
import {
  allReady,
  type ControlPlane,
  call,
  copySample,
  countVersions,
  type MeshFolder,
  startBackends,
  startChild,
  startControlPlane,
} from "@flotilla/cli/testing";
import { type EnvoyNode, type PilotAgent, startPilotAgent } from "@flotilla/dataplane";
import { delay, until } from "@flotilla/runtime";
import { findServer, freePorts } from "@flotilla/servers";

const host = "reviews.shop.svc.cluster.local:8080";
const serverName = "istiod.istio-system.svc";
const namespace = "shop";
const nodes: readonly EnvoyNode[] = [
  { name: "web", namespace, serviceAccount: "web", labels: { app: "web" }, address: "127.0.1.11" },
  {
    ...{ name: "reviews-v1", namespace, serviceAccount: "reviews", address: "127.0.1.21" },
    labels: { app: "reviews", version: "v1" },
  },
];

/** False, or why the tests cannot run. */
function missing(setting: string): false | string {
  const binary = process.env[setting];
  if (binary === undefined) return `${setting} names no binary: this client was NOT tested`;
  return existsSync(binary) ? false : `${setting}=${binary} does not exist: this client was NOT tested`;
}
const noAgent = missing("PILOT_AGENT");
const noIstioctl = noAgent || missing("ISTIOCTL");
for (const reason of [noAgent, noIstioctl]) if (reason !== false) console.warn(`      ${reason}`);

interface SyncStatus {
  readonly proxy: string;
  readonly [field: string]: unknown;
}

describe("unmodified clients", { skip: noAgent }, () => {
  const workDir = mkdtempSync(join(tmpdir(), "fl-"));
  const owned = new AsyncDisposableStack();
  const stop = new AbortController();
  const agents: PilotAgent[] = [];
  let plane: ControlPlane;
  let mesh: MeshFolder;

  before(async () => {
    mesh = copySample(workDir);
    const settings = Object.fromEntries(
      Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const options = {
      ...{ workDir, config: mesh.path, mesh: undefined, networks: undefined },
      ...{ embedded: false, firstPort: await freePorts(20), settings },
    };
    plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    plane.ended.catch(() => undefined);
    await allReady(plane, 90_000, () => undefined, stop.signal);
    await startBackends(owned);
    const firstPort = await freePorts(2 * nodes.length);
    const envoy = await findServer("envoy", { env: process.env });
    const issuer = await openLocalIssuer(workDir);
    for (const [index, node] of nodes.entries()) {
      const { name, serviceAccount } = node;
      const agent = await startPilotAgent({
        binary: process.env["PILOT_AGENT"] ?? "",
        ...{ envoy, node, discoveryName: serverName, certificateTtl: "12s" },
        directory: join(workDir, name),
        discoveryAddress: `127.0.0.1:${plane.layout.ports.xdsTls}`,
        rootFile: join(workDir, "root-cert.pem"),
        token: await issuer.mintToken({ namespace, serviceAccount }),
        adminPort: firstPort + 2 * index,
        statusPort: firstPort + 2 * index + 1,
      });
      agents.push(owned.use(agent));
    }
    await Promise.all(agents.map((agent) => agent.ready(60_000)));
    await until(async () => (await call(host)).status === 200, { withinMs: 60_000, what: "a first answer" });
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  const issued = (agent: PilotAgent) => agent.log().split("generated new workload certificate").length - 1;
  const health = () => plane.services.find(({ name }) => name === "xds-server")?.healthUrl ?? "";
  const synced = async (): Promise<readonly string[]> => {
    const response = await fetch(`${health()}/debug/syncz?fleet=false`).catch(() => undefined);
    const proxies = ((await response?.json()) ?? []) as readonly SyncStatus[];
    const isSynced = (one: SyncStatus) =>
      one["listener_sent"] !== undefined && one["listener_sent"] === one["listener_acked"];
    return proxies
      .filter(isSynced)
      .map(({ proxy }) => proxy)
      .sort();
  };

  /** Requests one after the other until `work` is done; answers other than 200 and broken connections. */
  async function failuresDuring(
    work: () => Promise<void>,
  ): Promise<{ readonly sent: number; readonly failed: readonly string[] }> {
    const failed: string[] = [];
    let [sent, done] = [0, false];
    const traffic = (async () => {
      while (!done) {
        sent++;
        const { status } = await call(host).catch((error: Error) => ({ status: error.message }));
        if (status !== 200) failed.push(String(status));
        await delay(5, stop.signal);
      }
    })();
    try {
      await work();
    } finally {
      done = true;
      await traffic;
    }
    return { sent, failed };
  }

  it("pilot-agent needs its discovery address only: certificate, configuration, identity", async () => {
    // An agent is ready before its last acknowledgement has arrived.
    const areSynced = async () => (await synced()).join() === "reviews-v1.shop,web.shop";
    await until(areSynced, { withinMs: 60_000, what: "both agents to be synced" });
    const seen = await until(
      async () => {
        const { reply } = await call(host);
        return reply?.version === "v1" ? reply : undefined;
      },
      { withinMs: 60_000, what: "an answer of v1", everyMs: 1 },
    );
    assert.match(String(seen.headers["x-forwarded-client-cert"]), /URI=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/web/);
  });

  it("certificates are renewed under traffic without a failed request", async () => {
    const before = agents.map(issued);
    const { sent, failed } = await failuresDuring(() =>
      until(() => agents.every((agent, index) => issued(agent) >= (before[index] ?? 0) + 2), {
        withinMs: 60_000,
        what: "two more certificates each",
        everyMs: 100,
      }).then(() => undefined),
    );
    console.log(`      ${sent} requests`);
    assert.deepEqual(failed, []);
    assert.ok(sent > 100, `${sent} requests`);
  });

  it("xds-server killed and started again: no failed request, and changes arrive again", async () => {
    const xdsServer = plane.services.find(({ name }) => name === "xds-server");
    assert.ok(xdsServer !== undefined);
    const { sent, failed } = await failuresDuring(async () => {
      await xdsServer.kill();
      await delay(1_000, stop.signal);
      const logFile = join(workDir, "logs", "second.log");
      const env = plane.environment("xds-server");
      owned.use(startChild({ name: "xds-server", env, healthUrl: health(), logFile }));
      await until(async () => (await synced()).length === nodes.length, {
        withinMs: 60_000,
        what: "both agents to be back",
        everyMs: 100,
      });
      mesh.routeAllTo("v2");
      await until(async () => (await countVersions(host, 20)).get("v2") === 20, {
        withinMs: 60_000,
        what: "the new route",
      });
    });
    console.log(`      ${sent} requests`);
    assert.deepEqual(failed, []);
  });

  describe("istioctl", { skip: noIstioctl }, () => {
    let kube: Server;
    const env = { PATH: process.env["PATH"] ?? "", HOME: workDir, KUBECONFIG: join(workDir, "kubeconfig") };
    const certificates = join(workDir, "istioctl");

    async function istioctl(...args: readonly string[]): Promise<string> {
      const { stdout } = await promisify(execFile)(process.env["ISTIOCTL"] ?? "", [...args], { env, timeout: 20_000 });
      return stdout;
    }
    const overXds = () => [
      ...["--xds-address", `127.0.0.1:${plane.layout.ports.xdsTls}`, "--authority", serverName],
      ...["--cert-dir", certificates, "--timeout", "10s"],
    ];

    before(async () => {
      // It needs a Kubernetes API, with nothing in it.
      kube = createServer((request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
        response.writeHead(200, { "content-type": "application/json" });
        if (searchParams.get("watch") !== null) response.write(`${JSON.stringify(thatWasAll)}\n`);
        else if (pathname === "/version")
          response.end(JSON.stringify({ major: "1", minor: "34", gitVersion: "v1.34.0" }));
        else response.end(JSON.stringify(emptyList));
      });
      await new Promise<void>((resolve) => kube.listen(0, "127.0.0.1", resolve));
      const server = `http://127.0.0.1:${(kube.address() as AddressInfo).port}`;
      writeFileSync(env.KUBECONFIG, kubeconfig(server));
      // It calls itself the account `default` of the control plane's namespace.
      const account = { namespace: "istio-system", serviceAccount: "default" };
      const rootsPem = readFileSync(join(workDir, "root-cert.pem"), "utf8");
      const material = await requestCertificate({
        address: `127.0.0.1:${plane.layout.ports.xdsTls}`,
        proof: { token: await (await openLocalIssuer(workDir)).mintToken(account) },
        ...{ serverName, rootsPem, names: [], keyType: "ecdsa-p256", ttlMs: 600_000 },
      });
      mkdirSync(certificates);
      const files = { "key.pem": material.keyPem, "cert-chain.pem": material.chainPem, "root-cert.pem": rootsPem };
      for (const [file, text] of Object.entries(files)) writeFileSync(join(certificates, file), text);
    });
    after(() => {
      kube.closeAllConnections();
      kube.close();
    });

    it("proxy-status shows every proxy and what it has", async () => {
      const table = await istioctl("proxy-status", "-v", "1", ...overXds());
      for (const { name } of nodes) {
        const row = table.split("\n").find((line) => line.startsWith(`${name}.shop`));
        assert.match(row ?? table, /Kubernetes +SYNCED.* SYNCED/);
      }
    });

    it("internal-debug shows pages", async () => {
      assert.match(
        await istioctl("x", "internal-debug", "registryz", ...overXds()),
        /reviews\.shop\.svc\.cluster\.local/,
      );
    });

    for (const [part, expected] of [
      ["clusters", /reviews\.shop\.svc\.cluster\.local +8080 +v1 +outbound +EDS/],
      ["listeners", /127\.0\.1\.11 +8080/],
      ["routes", /reviews\.shop\.svc\.cluster\.local/],
      ["eds", /127\.0\.1\.21:\d+/],
    ] as const) {
      it(`proxy-config ${part} reads our config_dump`, async () => {
        const types = part === "eds" ? "&types=eds" : "";
        const file = join(workDir, `dump-${part}.json`);
        writeFileSync(file, await (await fetch(`${health()}/debug/config_dump?proxyID=web.shop${types}`)).text());
        assert.match(await istioctl("proxy-config", part, "--file", file), expected);
      });
    }
  });
});

const emptyList = {
  ...{ kind: "MutatingWebhookConfigurationList", apiVersion: "admissionregistration.k8s.io/v1" },
  ...{ metadata: { resourceVersion: "1" }, items: [] },
};

/** The bookmark that a watch which lists first is sent after the last of the objects. */
const thatWasAll = {
  type: "BOOKMARK",
  object: {
    ...{ kind: "MutatingWebhookConfiguration", apiVersion: "admissionregistration.k8s.io/v1" },
    metadata: { resourceVersion: "1", annotations: { "k8s.io/initial-events-end": "true" } },
  },
};

function kubeconfig(server: string): string {
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
    clusters: [{ name: "test", cluster: { server } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    users: [{ name: "test", user: {} }],
  });
}

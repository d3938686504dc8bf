/** Two workloads: pilot-agents with Envoys, or agents of ours that behave as those do and do not subscribe to PCDS. */
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { call, type Layout, startBackends } from "@flotilla/cli/testing";
import { type EnvoyNode, startEnvoy, startPilotAgent } from "@flotilla/dataplane";
import { findServer, freePort, freePorts } from "@flotilla/servers";
import { Agent } from "./agent.ts";
import { clientBootstrap, serverBootstrap } from "./handshaking-envoys.ts";

export interface Workloads {
  /** The identities of the two. */
  readonly accounts: readonly string[];
  /** A request of one to the other: its status, 0 when there is none. */
  ask(): Promise<number>;
}

export interface WorkloadOptions {
  readonly layout: Layout;
  readonly ttlMs: number;
  readonly owned: AsyncDisposableStack;
}

type Start = (options: WorkloadOptions) => Promise<Workloads>;

const namespace = "shop";

export async function agentsOfOurs({ layout, ttlMs, owned }: WorkloadOptions): Promise<Workloads> {
  const agent = async (name: string) =>
    owned.use(await Agent.start({ name, layout, ttlMs, roots: "with-certificate" }));
  const [web, reviews] = [await agent("web"), await agent("reviews")];
  const backend = createServer((_, response) => response.end("ok"));
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
  owned.defer(() => void backend.close());
  const binary = await findServer("envoy", { env: process.env });
  const directory = join(layout.workDir, "envoy");
  const start = async (name: string, bootstrap: Parameters<typeof startEnvoy>[0]["bootstrap"]) =>
    owned.use(await startEnvoy({ binary, directory, name, bootstrap }));
  const [tlsPort, port] = [await freePort(), await freePort()];
  const peer = (account: string) => `spiffe://cluster.local/ns/${namespace}/sa/${account}`;
  const target = (backend.address() as AddressInfo).port;
  await start(
    "reviews",
    serverBootstrap({ port: tlsPort, target, secretSocket: reviews.secretSocket, peer: peer("web") }),
  );
  await start("web", clientBootstrap({ port, target: tlsPort, secretSocket: web.secretSocket, peer: peer("reviews") }));
  return {
    accounts: ["web", "reviews"],
    ask: async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => ({ status: 0 }))).status,
  };
}

const nodes: readonly EnvoyNode[] = [
  { name: "web", namespace, serviceAccount: "web", labels: { app: "web" }, address: "127.0.1.11" },
  {
    ...{ name: "reviews-v1", namespace, serviceAccount: "reviews", address: "127.0.1.21" },
    labels: { app: "reviews", version: "v1" },
  },
];

/** False, or why there are none. */
export const noPilotAgents: false | string = ((binary: string | undefined) => {
  if (binary === undefined) return "PILOT_AGENT names no binary: this client was NOT tested";
  return existsSync(binary) ? false : `PILOT_AGENT=${binary} does not exist: this client was NOT tested`;
})(process.env["PILOT_AGENT"]);

/** In the sample mesh. */
export const pilotAgents: Start = (options) => startPilotAgents(options, false);
/** The same, with PROXY_CONFIG_XDS_AGENT. */
export const pilotAgentsWithPcds: Start = (options) => startPilotAgents(options, true);

async function startPilotAgents({ layout, ttlMs, owned }: WorkloadOptions, followsRoots: boolean): Promise<Workloads> {
  const { workDir, ports } = layout;
  await startBackends(owned);
  const [firstPort, envoy, issuer] = await Promise.all([
    freePorts(2 * nodes.length),
    findServer("envoy", { env: process.env }),
    openLocalIssuer(workDir),
  ]);
  for (const [index, node] of nodes.entries()) {
    const agent = await startPilotAgent({
      ...{ binary: process.env["PILOT_AGENT"] ?? "", envoy, node, directory: join(workDir, node.name) },
      ...{ discoveryAddress: `127.0.0.1:${ports.xdsTls}`, discoveryName: "istiod.istio-system.svc" },
      followsRoots,
      certificateTtl: `${ttlMs / 1000}s`,
      rootFile: join(workDir, "root-cert.pem"),
      token: await issuer.mintToken({ namespace, serviceAccount: node.serviceAccount }),
      adminPort: firstPort + 2 * index,
      statusPort: firstPort + 2 * index + 1,
    });
    owned.use(agent);
    await agent.ready(60_000);
  }
  const host = "reviews.shop.svc.cluster.local:8080";
  return {
    accounts: nodes.map(({ serviceAccount }) => serviceAccount),
    ask: async () => (await call(host).catch(() => ({ status: 0 }))).status,
  };
}

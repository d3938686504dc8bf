/** The demo's data plane: three back ends and two real Envoys, with certificates from ca. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate } from "@flotilla/auth/serving";
import {
  type Envoy,
  type EnvoyNode,
  envoyBootstrap,
  proxyGroupId,
  type SdsServer,
  serveSecrets,
  startEchoServer,
  startEnvoy,
  type WorkloadCertificate,
} from "@flotilla/dataplane";
import { recordAdminAddress } from "@flotilla/runtime";
import type { Layout } from "../layout.ts";
import { paths } from "../layout.ts";
import { clientProxy, type ProxyAddress } from "./requests.ts";

export interface Fleet extends AsyncDisposable {
  readonly client: Envoy;
  readonly server: Envoy;
  /** Where the client's proxy takes the calls of its workload, and the server's those of the mesh. */
  readonly addresses: { readonly client: ProxyAddress; readonly server: ProxyAddress };
}

const namespace = "shop";

const nodes = {
  web: { name: "web", namespace, serviceAccount: "web", labels: { app: "web" }, address: clientProxy.host },
  reviews: {
    name: "reviews-v1",
    namespace,
    serviceAccount: "reviews",
    labels: { app: "reviews", version: "v1" },
    address: "127.0.1.21",
  },
} satisfies Readonly<Record<string, EnvoyNode>>;

/** v1 stands behind its sidecar; v2 and the service outside of the mesh are called directly. */
const backends = [
  { name: "v1", host: "127.0.0.1", port: 28081 },
  { name: "v2", host: "127.0.1.22", port: 18080 },
  { name: "quotes", host: "127.0.1.23", port: 18080 },
] as const;

const addresses = { client: clientProxy, server: { host: nodes.reviews.address, port: 18080 } };

/** Where back ends and proxies listen. */
export const fleetAddresses: readonly ProxyAddress[] = [...backends, addresses.server, addresses.client];

export async function startBackends(owned: AsyncDisposableStack): Promise<void> {
  for (const { name, host, port } of backends) owned.use(await startEchoServer(name, port, host));
}

export async function startFleet(binary: string, layout: Layout, delta = true): Promise<Fleet> {
  const owned = new AsyncDisposableStack();
  const start = (node: EnvoyNode) => startProxy(binary, node, layout, owned, delta);
  try {
    await startBackends(owned);
    const [server, client] = [await start(nodes.reviews), await start(nodes.web)];
    return { client, server, addresses, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  } catch (error) {
    await owned.disposeAsync();
    throw error;
  }
}

/** An Envoy with a certificate of its own. */
export async function startProxy(
  binary: string,
  node: EnvoyNode,
  layout: Layout,
  owned: AsyncDisposableStack,
  delta: boolean,
): Promise<Envoy> {
  const secretSocket = join(layout.workDir, `${node.name}.sock`);
  owned.use(await serveCertificate(node, secretSocket, layout));
  const bootstrap = envoyBootstrap({ node, delta, secretSocket, adminPort: 0, ...(await discovery(node, layout)) });
  const directory = join(layout.workDir, "envoy");
  const groupId = node.interception === "REDIRECT" ? { groupId: proxyGroupId } : {};
  const envoy = owned.use(await startEnvoy({ binary, directory, name: node.name, bootstrap, ...groupId }));
  const record = { workDir: layout.workDir, proxy: `${node.name}.${node.namespace}` };
  owned.use(await recordAdminAddress(record, new URL(envoy.adminUrl).host));
  return envoy;
}

/** Plain text, but for gateways: Secrets are sent to proven callers alone. */
async function discovery({ type, namespace, serviceAccount }: EnvoyNode, layout: Layout) {
  const { ports, workDir } = layout;
  if (type !== "router") return { discoveryAddress: `127.0.0.1:${ports.xds}` };
  const issuer = await openLocalIssuer(workDir);
  const token = await issuer.mintToken({ namespace, serviceAccount });
  const rootFile = paths(layout).root;
  const secure = { by: "token", serverName: "istiod.istio-system.svc", rootFile, token } as const;
  return { discoveryAddress: `127.0.0.1:${ports.xdsTls}`, secure };
}

/** Stands in for pilot-agent beside an Envoy: obtains a certificate by token and serves it. */
async function serveCertificate(node: EnvoyNode, socket: string, layout: Layout): Promise<SdsServer> {
  return serveSecrets(socket, await workloadCertificate(node, layout));
}

/** The certificate that ca issues to an account. */
export async function workloadCertificate(
  { namespace, serviceAccount }: Pick<EnvoyNode, "namespace" | "serviceAccount">,
  layout: Layout,
): Promise<WorkloadCertificate> {
  const issuer = await openLocalIssuer(layout.workDir);
  const token = await issuer.mintToken({ namespace, serviceAccount });
  const material = await requestCertificate({
    address: `127.0.0.1:${layout.ports.ca}`,
    serverName: "flotilla-ca.istio-system.svc",
    rootsPem: readFileSync(paths(layout).root, "utf8"),
    proof: { token },
    names: [],
    keyType: "ecdsa-p256",
    ttlMs: 86_400_000,
  });
  return { chain: material.chainPem, key: material.keyPem, roots: material.rootsPem };
}

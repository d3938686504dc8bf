/** Connections to an API server through the proxy that its kubeconfig names (`proxy-url`: http, https, socks5). */
import type { Agent, RequestOptions } from "node:https";
import type { Cluster } from "@kubernetes/client-node";
import type { KubeCredentials } from "./credentials.ts";

/** Holds one agent, until the certificates change. */
export function proxyAgents({ server, proxyUrl = "" }: Cluster): (credentials: KubeCredentials) => Promise<Agent> {
  let held: { readonly tls: string; readonly agent: Promise<Agent> } | undefined;
  return ({ ca, cert, key, servername, isInsecure = false }) => {
    const tls = { ca, cert, key, servername, rejectUnauthorized: !isInsecure };
    const text = JSON.stringify(tls);
    if (held?.tls !== text) held = { tls: text, agent: openAgent({ server, proxyUrl, isInsecure }, tls) };
    return held.agent;
  };
}

interface Way {
  readonly server: string;
  readonly proxyUrl: string;
  readonly isInsecure: boolean;
}

async function openAgent({ server, proxyUrl, isInsecure }: Way, tls: object): Promise<Agent> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const kubeConfig = new KubeConfig();
  const cluster = { name: "cluster", server, proxyUrl, skipTLSVerify: isInsecure };
  kubeConfig.loadFromClusterAndUser(cluster, { name: "user" });
  // What the agent has goes before what a request has: it must hold the certificates itself.
  const options: RequestOptions = { ...tls };
  await kubeConfig.applyToHTTPSOptions(options);
  return options.agent as Agent;
}

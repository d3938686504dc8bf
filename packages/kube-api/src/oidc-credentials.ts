/**
 * Tokens of an OpenID Connect provider, as a kubeconfig's auth-provider `oidc` names it: the id-token until it expires, then what
 * the refresh-token gives.
 */
import type { RequestOptions } from "node:https";
import type { KubeConfig, User } from "@kubernetes/client-node";
import { KubeError } from "./errors.ts";
import { type RenewedCredentials, renewedCredentials } from "./renewed-credentials.ts";

export function oidcCredentials(
  authProvider: NonNullable<User["authProvider"]>,
  file: string,
  nowMs?: () => number,
): RenewedCredentials {
  let opened: Promise<KubeConfig> | undefined;
  const fetch = async () => {
    // One for all times: it keeps the refresh-token that was given last.
    opened ??= openProvider(authProvider);
    const token = await tokenFrom(await opened, file);
    return { credentials: { token }, expiryMs: expiryMsOf(token) };
  };
  return renewedCredentials(fetch, nowMs);
}

async function openProvider(authProvider: unknown): Promise<KubeConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const kubeConfig = new KubeConfig();
  // The cluster is not asked for anything here.
  const cluster = { name: "cluster", server: "https://cluster", skipTLSVerify: false };
  kubeConfig.loadFromClusterAndUser(cluster, { name: "user", authProvider });
  return kubeConfig;
}

/** @throws KubeError KUBE_CONFIG */
async function tokenFrom(provider: KubeConfig, file: string): Promise<string> {
  const options: RequestOptions = {};
  const wrong = (why: string, cause?: unknown) =>
    new KubeError("KUBE_CONFIG", `${file}: auth-provider oidc gives no token: ${why}`, { cause });
  try {
    await provider.applyToHTTPSOptions(options);
  } catch (cause) {
    const { message, cause: deeper } = cause as Error;
    throw wrong(deeper instanceof Error ? `${message}: ${deeper.message}` : message, cause);
  }
  const header = (options.headers as Record<string, string> | undefined)?.["Authorization"];
  if (header === undefined)
    throw wrong("it has no id-token that holds, nor client-id, refresh-token and idp-issuer-url to renew it with");
  return header.replace(/^Bearer /, "");
}

/** Undefined for what is no JWT, or one without an end. The API server alone judges it. */
function expiryMsOf(token: string): number | undefined {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp?: unknown };
    return typeof exp === "number" ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

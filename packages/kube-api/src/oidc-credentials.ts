/**
 * Tokens of an OpenID Connect provider, as a kubeconfig's auth-provider `oidc` names it: the id-token until it expires or is refused, then
 * those that the refresh-token gives (OpenID Connect Core 1.0, 12; Discovery 1.0, 4). The API server checks the token's subject.
 */
import { readFile } from "node:fs/promises";
import { type RenewedCredentials, renewedCredentials } from "./credentials.ts";
import { KubeError } from "./errors.ts";
import { postForm, readJson } from "./json-over-https.ts";

/** `config` of the auth-provider. */
export interface OidcFields {
  readonly "id-token"?: string;
  readonly "refresh-token"?: string;
  readonly "client-id"?: string;
  readonly "client-secret"?: string;
  readonly "idp-issuer-url"?: string;
  /** A file; the other is the content, in base64. */
  readonly "idp-certificate-authority"?: string;
  readonly "idp-certificate-authority-data"?: string;
}

interface Discovered {
  readonly token_endpoint?: unknown;
  readonly token_endpoint_auth_methods_supported?: unknown;
}
interface Granted {
  readonly id_token?: unknown;
  readonly refresh_token?: unknown;
}

/** `file` is what errors call the kubeconfig. */
export function oidcCredentials(fields: OidcFields, file: string, nowMs: () => number = Date.now): RenewedCredentials {
  let given = fields["id-token"];
  // A provider may take each refresh-token once: the last one is kept, in memory.
  let refreshToken = fields["refresh-token"];
  const fetch = async () => {
    const token = given !== undefined && nowMs() < (expiryMsOf(given) ?? 0) ? given : await renew();
    given = undefined;
    return { credentials: { token }, expiryMs: expiryMsOf(token) };
  };
  const renew = async () => {
    try {
      const granted = await refresh(fields, refreshToken);
      refreshToken = granted.refreshToken;
      return granted.idToken;
    } catch (cause) {
      const why = (cause as Error).message;
      throw new KubeError("KUBE_CONFIG", `${file}: auth-provider oidc gives no token: ${why}`, { cause });
    }
  };
  return renewedCredentials(fetch, nowMs);
}

async function refresh(fields: OidcFields, refreshToken: string | undefined) {
  const { "client-id": id, "client-secret": secret, "idp-issuer-url": issuer } = fields;
  if (!id || !refreshToken || !issuer)
    throw new Error(
      "its id-token does not hold, and client-id, refresh-token or idp-issuer-url to renew it is missing",
    );
  const ca = await issuersOf(fields);
  const wellKnown = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const found = await readJson<Discovered>(wellKnown, { ca });
  const { token_endpoint: endpoint, token_endpoint_auth_methods_supported: methods } = found;
  if (typeof endpoint !== "string") throw new Error(`${wellKnown} names no token_endpoint`);
  const form = { grant_type: "refresh_token", refresh_token: refreshToken, client_id: id };
  const isInForm = Array.isArray(methods) && !methods.includes("client_secret_basic");
  const granted = await postForm<Granted>(endpoint, {
    ca,
    form: secret && isInForm ? { ...form, client_secret: secret } : form,
    ...(secret && !isInForm && { basic: { id, secret } }),
  });
  if (typeof granted.id_token !== "string") throw new Error(`${endpoint} granted no id_token`);
  const next = typeof granted.refresh_token === "string" ? granted.refresh_token : refreshToken;
  return { idToken: granted.id_token, refreshToken: next };
}

async function issuersOf(fields: OidcFields): Promise<string | undefined> {
  const { "idp-certificate-authority-data": data, "idp-certificate-authority": path } = fields;
  if (data) return Buffer.from(data, "base64").toString();
  return path ? readFile(path, "utf8") : undefined;
}

/** Undefined for what is no JWT, or one without an end. */
function expiryMsOf(token: string): number | undefined {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp?: unknown };
    return typeof exp === "number" ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

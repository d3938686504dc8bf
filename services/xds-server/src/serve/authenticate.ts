/** Authenticates the opener of a stream, and checks that the node it claims to be is its own. */
import type { Authenticator, Caller } from "@flotilla/auth";
import { parseIdentity } from "@flotilla/auth";
import type { Proxy } from "@flotilla/model";
import { streamEnd } from "./stream-end.ts";

export interface StreamAuthentication {
  readonly authenticator: Authenticator;
  /** `required`: no proof, no stream. `offered`: a proof is checked if there is one, as on a plaintext port. */
  readonly mode: "required" | "offered";
}

export interface Proven {
  readonly identities: readonly string[];
}

/** Nothing was asked for. */
export const anonymous: Proven = { identities: [] };

/**
 * @throws GrpcError UNAUTHENTICATED; the reason goes to `onRefused`, as the caller learns nothing of it
 */
export async function authenticate(
  caller: Caller,
  { authenticator, mode }: StreamAuthentication,
  onRefused: (reason: string) => void,
): Promise<Proven> {
  if (mode === "offered" && caller.peerCertificate === undefined && !caller.metadata.has("authorization")) {
    return anonymous;
  }
  const verdict = await authenticator.authenticate(caller);
  if (verdict.authenticated) return { identities: verdict.identities };
  onRefused(verdict.reason);
  throw streamEnd.unauthenticated();
}

/**
 * Refuses callers without the right to configuration as such (GENERATOR "api"), who would see the objects of every namespace: that is for
 * control planes, which have an identity of the root namespace, as istiod has it.
 * @throws GrpcError PERMISSION_DENIED
 */
export function checkApiCaller({ identities }: Proven, { generator }: Proxy, rootNamespace: string): void {
  if (generator !== "api") return;
  if (identities.some((text) => parseIdentity(text)?.namespace === rootNamespace)) return;
  const shown = identities.length === 0 ? "none" : identities.join(" ");
  throw streamEnd.denied(
    `authorization failed: GENERATOR "api" asks for an identity of namespace ${rootNamespace}, shown is ${shown}`,
  );
}

/**
 * A proven caller may only be the workload it proved to be: its identity's namespace, and its service account where
 * the node names one. Wording as istiod has it, since tools look for it.
 * @throws GrpcError PERMISSION_DENIED
 */
export function checkNodeIdentity({ identities }: Proven, { namespace, serviceAccount }: Proxy): void {
  if (identities.length === 0) return;
  const isOwn = identities.some((text) => {
    const identity = parseIdentity(text);
    if (identity === undefined || identity.namespace !== namespace) return false;
    return serviceAccount === "" || identity.serviceAccount === serviceAccount;
  });
  if (isOwn) return;
  const wanted = `${namespace}/${serviceAccount}`;
  throw streamEnd.denied(`authorization failed: no identities ([${identities.join(" ")}]) matched ${wanted}`);
}

/**
 * Debug pages for callers of other hosts, such as the command line in another container: a token of the local issuer for an account of
 * the control plane's namespace opens them. Callers of the own host need none.
 */
import { forOwnHost, type HttpHandler, type HttpRequest, isFromOwnHost, type Logger } from "@flotilla/runtime";
import type { Authenticator } from "./authenticator.ts";
import { parseIdentity } from "./identity.ts";
import { localIssuerRule } from "./local-issuer.ts";
import { anyTrustDomain, peerIdentity } from "./peer/peer-identity.ts";

/** Whether debug pages are guarded, and the issuer whose tokens open them. */
export interface PageAccessOptions {
  /** False: the pages are for everybody. */
  readonly isOn: boolean;
  readonly workDir: string;
  /** Of the control plane. */
  readonly namespace: string;
  readonly log: Logger;
}

/** Guards handlers of pages. */
export function pageAccess({
  isOn,
  workDir,
  namespace,
  log,
}: PageAccessOptions): (handler: HttpHandler) => HttpHandler {
  const jwtRules = [localIssuerRule(workDir)];
  const { authenticator } = peerIdentity({ jwtRules, trustDomains: anyTrustDomain, nowMs: Date.now, log });
  return (handler) => {
    const guarded = forOwnHost(isOn, handler);
    return async (request) => {
      const isTrusted = isOn && !isFromOwnHost(request) && (await isOf(namespace, request, authenticator));
      return isTrusted ? handler(request) : guarded(request);
    };
  };
}

async function isOf(namespace: string, request: HttpRequest, authenticator: Authenticator): Promise<boolean> {
  const { authorization } = request.headers;
  if (typeof authorization !== "string") return false;
  const address = request.remoteAddress.includes(":") ? `[${request.remoteAddress}]` : request.remoteAddress;
  const metadata = new Map([["authorization", [authorization]]]);
  const verdict = await authenticator.authenticate({ metadata, remoteAddress: `${address}:0` });
  return verdict.authenticated && verdict.identities.some((one) => parseIdentity(one)?.namespace === namespace);
}

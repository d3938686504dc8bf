/**
 * Debug pages for callers of other hosts, such as the command line in another container: a token for an account of the control plane's
 * namespace opens them, of the local issuer or, in a cluster, one that its API server confirms. Callers of the own host need none, and a caller who shows a token is judged by it wherever
 * it calls from: the console passes on the tokens of people who are not on this host (decision 0274).
 */
import {
  forOwnHost,
  type Health,
  type HttpHandler,
  type HttpRequest,
  type Logger,
  type ProcessPages,
} from "@flotilla/runtime";
import type { Authenticator } from "./authenticator.ts";
import { parseIdentity } from "./identity.ts";
import { defaultAudience } from "./jwt/jwt-rule.ts";
import { localIssuerRule } from "./local-issuer.ts";
import { anyTrustDomain, type PeerRules, peerIdentity } from "./peer/peer-identity.ts";
import type { ReviewToken } from "./token-review.ts";

/** Audience of operators' tokens: for pages and the API of objects, and never for certificates. */
export const operatorAudience = "flotilla-api";

/** Guard of the debug pages, and the issuer whose tokens open them. */
export interface PageAccessOptions {
  /** False: the pages are for everybody. */
  readonly isOn: boolean;
  readonly workDir: string;
  /** Of the control plane. */
  readonly namespace: string;
  /** Service accounts that may change something over pages, as `namespace/name`. */
  readonly writers?: readonly string[];
  /**
   * The API server of the own cluster. It is asked about tokens for operators alone: gateways in the control plane's namespace have
   * tokens for certificates, which open nothing here.
   */
  readonly review?: ReviewToken | undefined;
  readonly log: Logger;
}

/** Guards handlers of pages. */
export interface PageAccess {
  read(handler: HttpHandler): HttpHandler;
  /** For writers, and callers of the own host who show no token. */
  write(handler: HttpHandler): HttpHandler;
  /**
   * The account that the caller's token proves: `account`, as `namespace/name`, and `mayWrite`, true for writers; 401 without a proven
   * account, 403 for accounts without access.
   */
  readonly caller: HttpHandler;
}

export function pageAccess({ isOn, workDir, namespace, writers = [], review, log }: PageAccessOptions): PageAccess {
  const jwtRules = [localIssuerRule(workDir, [defaultAudience, operatorAudience])];
  const { authenticator } = peerIdentity({
    ...{ jwtRules, trustDomains: anyTrustDomain, nowMs: Date.now, log },
    review: review && reviewOf(review),
  });
  const isOwn = ({ account }: Proven) => account.startsWith(`${namespace}/`);
  const guard = (isGuarded: boolean, isAllowed: (proven: Proven) => boolean) => (handler: HttpHandler) => {
    const guarded = forOwnHost(isGuarded, handler);
    return async (request: HttpRequest) => {
      if (!isGuarded || request.headers["authorization"] === undefined) return guarded(request);
      const proven = await callerOfRequest(request, authenticator);
      if (proven !== undefined && isAllowed(proven)) return handler(request);
      const error = proven === undefined ? "the token proves no identity" : `${proven.account} may not do this here`;
      return { status: proven === undefined ? 401 : 403, json: { error } };
    };
  };
  return {
    read: guard(isOn, isOwn),
    write: guard(true, ({ account }) => writers.includes(account)),
    caller: async (request) => {
      const proven = await callerOfRequest(request, authenticator);
      if (proven === undefined) return { status: 401, json: { error: "the token proves no identity" } };
      const { account } = proven;
      const mayWrite = writers.includes(account);
      if (mayWrite || isOwn(proven)) return { json: { account, mayWrite } };
      return { status: 403, json: { error: `${account} may not see these pages` } };
    },
  };
}

function reviewOf(review: ReviewToken): PeerRules["review"] {
  return {
    ...{ clusterId: "", aliases: new Map(), audiences: [operatorAudience], policy: "third-party" },
    reviewerOf: () => review,
  };
}

/** Settings and log levels of the process, and who the caller is, on a service's port. */
export function serveProcessPages(health: Pick<Health, "route">, access: PageAccess, pages: ProcessPages): void {
  health.route("GET", "/debug/caller", access.caller);
  health.route("GET", "/debug/settings", access.read(pages.settings));
  health.route("PUT", "/debug/levels", access.write(pages.setLevel));
}

/** A caller by its token. */
export interface Proven {
  /** `namespace/serviceAccount` */
  readonly account: string;
  readonly identities: readonly string[];
}

/** By the token of the `authorization` header; undefined when it proves no identity. */
export async function callerOfRequest(
  { headers, remoteAddress }: Pick<HttpRequest, "headers" | "remoteAddress">,
  authenticator: Authenticator,
): Promise<Proven | undefined> {
  const { authorization } = headers;
  if (typeof authorization !== "string") return undefined;
  const address = remoteAddress.includes(":") ? `[${remoteAddress}]` : remoteAddress;
  const metadata = new Map([["authorization", [authorization]]]);
  const verdict = await authenticator.authenticate({ metadata, remoteAddress: `${address}:0` });
  if (!verdict.authenticated) return undefined;
  const [identity] = verdict.identities.flatMap((text) => parseIdentity(text) ?? []);
  if (identity === undefined) return undefined;
  return { account: `${identity.namespace}/${identity.serviceAccount}`, identities: verdict.identities };
}

/** Proof by a token that the API server of the caller's cluster confirms (TokenReview). */
import { decodeJwt, errors } from "jose";
import {
  type Authenticator,
  bearerToken,
  type Caller,
  type KubernetesInfo,
  refused,
  type Verdict,
} from "./authenticator.ts";
import { formatIdentity, parseServiceAccount } from "./identity.ts";
import { VerdictCache } from "./verdict-cache.ts";

/** The parts of TokenReviewStatus that matter. */
export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly error?: string;
  readonly user?: {
    readonly username?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

/** Asks a cluster's API server; no audiences means those of the API server itself. Rejects when it cannot be asked. */
export type ReviewToken = (token: string, audiences: readonly string[]) => Promise<TokenReviewStatus>;

/** The reviewers of clusters, and which tokens they are asked about. */
export interface TokenReviewOptions {
  readonly clusterId: string;
  /** Other names of clusters. */
  readonly aliases: ReadonlyMap<string, string>;
  /** The judge of a cluster, by its own name; undefined if the cluster is not known (any more). */
  readonly reviewerOf: (cluster: string) => ReviewToken | undefined;
  readonly audiences: readonly string[];
  /** `first-party`: tokens without an audience (legacy) are taken too. */
  readonly policy: "third-party" | "first-party";
  readonly trustDomain: () => string;
  readonly nowMs: () => number;
  /** A deleted account or pod is refused after this time at the latest. */
  readonly cacheMs?: number;
}

const podNameKey = "authentication.kubernetes.io/pod-name";
const podUidKey = "authentication.kubernetes.io/pod-uid";

/**
 * Accepts bearer tokens that the API server of the caller's cluster confirms. The cluster is named by the request's
 * `clusterid`, else it is the own one.
 */
export function tokenReviewAuthenticator(options: TokenReviewOptions): Authenticator {
  const { nowMs, cacheMs = 300_000, trustDomain } = options;
  const cache = new VerdictCache({ maxEntries: 20_000, maxAgeMs: cacheMs, nowMs });
  // Many streams of one workload come back at once after a restart: one question serves them all.
  const asked = new Map<string, Promise<Verdict>>();
  return {
    name: "token-review",
    authenticate: (caller) => {
      const token = bearerToken(caller);
      if (token === undefined) return Promise.resolve(refused("no bearer token"));
      const cluster = clusterOf(caller, options);
      // Verdicts of a removed cluster are not trusted.
      const ask = options.reviewerOf(cluster);
      if (ask === undefined) return Promise.resolve(refused(`cluster ${JSON.stringify(cluster)} is not known`));
      const known = cache.get(`${cluster} ${trustDomain()}`, token);
      if (known !== undefined) return Promise.resolve(known);
      const key = `${cluster} ${token}`;
      const running = asked.get(key);
      if (running !== undefined) return running;
      const answer = review({ token, cluster, ask }, options)
        .then((verdict) => {
          if (verdict.authenticated) cache.put(`${cluster} ${trustDomain()}`, token, verdict, expiryOf(token));
          return verdict;
        })
        .finally(() => asked.delete(key));
      asked.set(key, answer);
      return answer;
    },
  };
}

function clusterOf({ metadata }: Caller, { aliases, clusterId }: TokenReviewOptions): string {
  const named = metadata.get("clusterid")?.[0];
  if (named === undefined || named === "") return clusterId;
  return aliases.get(named) ?? named;
}

interface Question {
  readonly token: string;
  readonly cluster: string;
  readonly ask: ReviewToken;
}

async function review({ token, cluster, ask }: Question, options: TokenReviewOptions): Promise<Verdict> {
  const audiences = options.policy === "first-party" && isUnbound(token) ? [] : options.audiences;
  let status: TokenReviewStatus;
  try {
    status = await ask(token, audiences);
  } catch (error) {
    return refused(`the review failed: ${error instanceof Error ? error.message : String(error)}`);
  }
  return judge(status, cluster, options.trustDomain());
}

function judge({ authenticated, error, user }: TokenReviewStatus, cluster: string, trustDomain: string): Verdict {
  if (error !== undefined && error !== "") return refused(`the API server answered: ${error}`);
  if (authenticated !== true) return refused("the API server did not authenticate the token");
  if (!(user?.groups ?? []).includes("system:serviceaccounts")) return refused("the token is not of a service account");
  const account = parseServiceAccount(user?.username ?? "");
  if (account === undefined) return refused(`user ${JSON.stringify(user?.username)} is not a service account`);
  const podName = user?.extra?.[podNameKey]?.[0];
  const podUid = user?.extra?.[podUidKey]?.[0];
  const kubernetes: KubernetesInfo = {
    cluster,
    ...account,
    ...(podName !== undefined && { podName }),
    ...(podUid !== undefined && { podUid }),
  };
  const principal = formatIdentity({ ...account, trustDomain });
  return { authenticated: true, authenticator: "token-review", identities: [principal], principal, kubernetes };
}

/** Legacy tokens have no audience and never expire. */
function isUnbound(token: string): boolean {
  return claimsOf(token).aud === undefined;
}

function expiryOf(token: string): number {
  const { exp } = claimsOf(token);
  return exp === undefined ? Number.POSITIVE_INFINITY : exp * 1000;
}

/** Read without a check: only to choose how to ask and how long to cache the verdict. */
function claimsOf(token: string): { readonly aud?: unknown; readonly exp?: number } {
  try {
    return decodeJwt(token);
  } catch (error) {
    if (error instanceof errors.JWTInvalid || error instanceof TypeError) return {};
    throw error;
  }
}

/** Identifies callers. Each authenticator verifies one kind of proof; they are tried in order, the first success counts. */

/** Evidence of the sender in a connection and a request. */
export interface Caller {
  /** DER of the client certificate, only if the TLS layer has verified it up to a trusted root. */
  readonly peerCertificate?: Buffer;
  /** Names in lower case. */
  readonly metadata: ReadonlyMap<string, readonly string[]>;
  /** `ip:port`, an IPv6 address in brackets. */
  readonly remoteAddress: string;
}

/** Claims of a Kubernetes token about the pod that it is bound to. */
export interface KubernetesInfo {
  readonly cluster?: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly podName?: string;
  readonly podUid?: string;
}

/** A caller whose proof was accepted, and what it proved. */
export interface Authenticated {
  readonly authenticated: true;
  readonly authenticator: string;
  /** All names that were proven. */
  readonly identities: readonly string[];
  /** The one a certificate may be issued for: the sender itself, not one that it speaks for. */
  readonly principal?: string;
  readonly kubernetes?: KubernetesInfo;
}

/** A caller that proved nothing. Its request is answered with UNAUTHENTICATED or 401. */
export interface Refused {
  readonly authenticated: false;
  /** For our log. The sender learns nothing of it. */
  readonly reason: string;
  /** The proven identities where none of them is of this mesh. */
  readonly foreign?: readonly string[];
}

/** The outcome of an authentication: refusals are ordinary results, not errors. */
export type Verdict = Authenticated | Refused;

/**
 * Checks one kind of proof. `authenticate` rejects only when the check itself failed, such as an API server that is away.
 */
export interface Authenticator {
  readonly name: string;
  authenticate(caller: Caller): Promise<Verdict>;
}

/** A refusal with the reason for the log of this service. */
export function refused(reason: string): Refused {
  return { authenticated: false, reason };
}

/** The reasons of all are joined when none succeeds: which proof the caller meant is not known. */
export function firstOf(authenticators: readonly Authenticator[]): Authenticator {
  return {
    name: authenticators.map(({ name }) => name).join(", "),
    authenticate: async (caller) => {
      const reasons: string[] = [];
      for (const authenticator of authenticators) {
        const verdict = await authenticator.authenticate(caller);
        if (verdict.authenticated) return verdict;
        reasons.push(`${authenticator.name}: ${verdict.reason}`);
      }
      return refused(reasons.join("; ") || "no authenticator is configured");
    },
  };
}

/** Larger ones are not looked at: a projected token has about one kilobyte. */
const maxTokenLength = 16_384;

/** The token in the `authorization` header. Other schemes may stand beside it; the first bearer token counts. */
export function bearerToken({ metadata }: Caller): string | undefined {
  for (const value of metadata.get("authorization") ?? []) {
    const token = /^Bearer (\S+)$/.exec(value)?.[1];
    if (token !== undefined && token.length <= maxTokenLength) return token;
  }
  return undefined;
}

/** Does a token name an audience that is expected? */
export function isForAudience(audiences: readonly string[], expected: readonly string[]): boolean {
  return audiences.some((audience) => expected.includes(audience));
}

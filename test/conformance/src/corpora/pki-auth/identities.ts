/** Names of identities, audiences, addresses of peers, and claims in routes. */
import { expandTrustDomains, formatIdentity, isForAudience, parseIdentity, trustedNetworks } from "@flotilla/auth";
import { create } from "@flotilla/proto";
import { StringMatchSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { claimMatcher } from "@flotilla/xds-server/functions";
import type { Counterpart } from "./judge.ts";

export const identityFunctions: Readonly<Record<string, Counterpart>> = {
  checkAudience: isForAudience,
  isTrustedAddress: (peer: string, networks: readonly string[]) => trustedNetworks(networks)(peer),
  genSpiffeURI: (trustDomain: string, namespace: string, serviceAccount: string) =>
    formatIdentity({ trustDomain, namespace, serviceAccount }),
  MustGenSpiffeURI: ({ trustDomain }: { trustDomain: string }, namespace: string, serviceAccount: string) =>
    formatIdentity({ trustDomain, namespace, serviceAccount }),
  ExpandWithTrustDomains: (identities: readonly string[], trustDomains: readonly string[] | null) =>
    expandTrustDomains(identities, trustDomains ?? []),
  ParseIdentity: (text: string) => {
    const identity = parseIdentity(text);
    if (identity === undefined) throw new Error("not an identity");
    const { trustDomain, namespace, serviceAccount } = identity;
    return { Namespace: namespace, ServiceAccount: serviceAccount, TrustDomain: trustDomain };
  },
  ToRoutingClaim: (name: string) => {
    const match = create(StringMatchSchema, { matchType: { case: "exact", value: "x" } });
    const path = claimMatcher(name, match, false)?.path.map(({ segment }) => segment.value);
    if (path === undefined) return {};
    const isBracketed = name.slice("@request.auth.claims".length).startsWith("[");
    return { Claims: path.slice(1), Match: true, ...(isBracketed && { Separator: 1 }) };
  },
};

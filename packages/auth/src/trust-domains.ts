/** Only identities of the mesh's own trust domains count: a shared root may sign for others too. */
import { type Authenticator, refused } from "./authenticator.ts";

/** Identities of other trust domains are left out of what was proven; with none left the caller is refused. */
export function ofTrustDomains(trustDomains: () => readonly string[], inner: Authenticator): Authenticator {
  return {
    name: inner.name,
    authenticate: async (caller) => {
      const verdict = await inner.authenticate(caller);
      if (!verdict.authenticated) return verdict;
      // As identities have them: cloud providers name a trust domain like a mail address.
      const own = trustDomains().map((name) => name.replaceAll("@", "."));
      const identities = verdict.identities.filter((identity) => own.includes(trustDomainOf(identity) ?? ""));
      if (identities.length === 0)
        return {
          ...refused(`${verdict.identities.join(", ")}: not of the trust domains ${own.join(", ")}`),
          foreign: verdict.identities,
        };
      const { principal, ...rest } = verdict;
      return { ...rest, identities, ...(principal !== undefined && identities.includes(principal) && { principal }) };
    },
  };
}

function trustDomainOf(identity: string): string | undefined {
  return /^spiffe:\/\/([^/]+)\//.exec(identity)?.[1];
}

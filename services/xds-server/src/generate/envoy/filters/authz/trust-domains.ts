/** Principals of the mesh's trust domain are meant under its aliases too. */

/** Stands for the mesh's own trust domain, whatever it is called. */
const localDomain = "cluster.local";

export function inTrustDomains(principals: readonly string[], trustDomains: readonly string[]): readonly string[] {
  if (trustDomains.length === 0) return principals;
  return principals.flatMap((principal) => [...new Set(spellings(principal, trustDomains))]);
}

function spellings(principal: string, trustDomains: readonly string[]): readonly string[] {
  const slash = principal.indexOf("/");
  const named = principal.slice(0, Math.max(slash, 0));
  // Only what is an identity in full: `domain/ns/NAMESPACE/sa/ACCOUNT`.
  if (named === "*" || principal.split("/").length !== 5) return [principal];
  const isNamed = (domain: string) => (named.startsWith("*") ? domain.endsWith(named.slice(1)) : domain === named);
  if (named !== localDomain && !trustDomains.some(isNamed)) return [principal];
  return trustDomains.map((domain) => (isNamed(domain) ? principal : domain + principal.slice(slash)));
}

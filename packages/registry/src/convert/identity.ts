/** Identities of workloads as SPIFFE ids. */

export function spiffeId(trustDomain: string, namespace: string, serviceAccount: string): string {
  // SPIFFE allows no "@" in a trust domain, but trust domains taken from cloud projects have one.
  return `spiffe://${trustDomain.replaceAll("@", ".")}/ns/${namespace}/sa/${serviceAccount}`;
}

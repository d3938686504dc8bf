/** Holders of certificates beside the proxies that are connected: who is where, which certificates are not in use any more. Pure. */
import type { ProxyTrust } from "@flotilla/auth";
import type { Holding } from "./ledger.ts";

export interface Holders {
  readonly holdings: readonly Holding[];
  readonly proxies: readonly ProxyTrust[];
  /** Names (see `nameOf`) of holders that are known to have ended, such as deleted pods. */
  readonly ended: ReadonlySet<string>;
}

/** The name by which an operator refers to a holder; it holds no character that is special to a shell. */
export function nameOf({ identity, place }: Pick<Holding, "identity" | "place">): string {
  return `${identity}@${place.trim().replaceAll(" ", "/")}`;
}

export function isAt(
  { identities, pod, host }: ProxyTrust,
  { identity, place }: Pick<Holding, "identity" | "place">,
): boolean {
  if (!identities.includes(identity)) return false;
  return place.startsWith("pod ") ? place.startsWith(`pod ${pod} `) : place === `host ${host}`;
}

/** Certificates that somebody may still use. */
export function certificatesInUse({ holdings, proxies, ended }: Holders): readonly Holding[] {
  const newest = new Map<string, number>();
  for (const holding of holdings) {
    const name = nameOf(holding);
    newest.set(name, Math.max(newest.get(name) ?? 0, holding.issuedMs));
  }
  const isReplaced = (holding: Holding): boolean =>
    holding.issuedMs < (newest.get(nameOf(holding)) ?? 0) &&
    proxies.filter((proxy) => isAt(proxy, holding)).length === 1;
  return holdings.filter((holding) => !ended.has(nameOf(holding)) && !isReplaced(holding));
}

/** `NAME.NAMESPACE` of the proxy that holds the certificate, as far as the place names it. */
export function proxyOf({ place }: Pick<Holding, "place">): string | undefined {
  const [, namespace, name] = /^pod ([^/ ]*)\/([^ ]*) /.exec(place) ?? [];
  return name === undefined ? undefined : `${name}.${namespace}`;
}

/** When an agent renews that does so in the middle of its certificate's life, as Istio's agents do. */
export function renewalMs({ issuedMs, notAfterMs }: Pick<Holding, "issuedMs" | "notAfterMs">): number {
  return issuedMs + (notAfterMs - issuedMs) / 2;
}

/**
 * Identities in x-forwarded-client-cert: of gateways in trusted networks, and of services of the control plane that pass
 * requests on.
 */

import { BlockList, isIP } from "node:net";
import { PkiError, parseCertificatesPem } from "@flotilla/pki";
import { type Authenticator, type Caller, refused, type Verdict } from "../authenticator.ts";
import { AuthError } from "../errors.ts";
import { commonNameOf, parseXfcc, type XfccElement } from "./xfcc-header.ts";

/** The gateways whose header is believed, as CIDR ranges. */
export interface XfccOptions {
  /** Beside this host. */
  readonly trustedNetworks: readonly string[];
  /** Authenticates the certificate of the last hop where the gateway sends it along. */
  readonly certificates?: Authenticator;
}

/** @throws AuthError AUTH_BAD_NETWORK */
export function xfccAuthenticator(options: XfccOptions): Authenticator {
  const isTrusted = trustedNetworks(options.trustedNetworks);
  const name = "xfcc";
  return {
    name,
    authenticate: async (caller) => {
      const { remoteAddress } = caller;
      const header = xfccOf(caller);
      if (header === undefined) return refused("no header");
      if (!isTrusted(remoteAddress)) return refused(`${remoteAddress} is not in a trusted network`);
      const elements = parseXfcc(header);
      if (elements === undefined) return refused("the header is malformed");
      const peerCertificate = certificateOf(elements.at(-1));
      if (peerCertificate !== undefined && options.certificates !== undefined) {
        const judged = await options.certificates.authenticate({ ...caller, peerCertificate });
        if (!judged.authenticated) return judged;
      }
      return readElements(elements, name);
    },
  };
}

/** Undefined if the caller sends none. */
function xfccOf({ metadata }: Caller): string | undefined {
  return metadata.get("x-forwarded-client-cert")?.join(",") || undefined;
}

/** DER of the certificate in an element; undefined if there is none, or not one. */
export function certificateOf(element: XfccElement | undefined): Buffer | undefined {
  if (element?.certificate === undefined) return undefined;
  try {
    return parseCertificatesPem(element.certificate)[0]?.der;
  } catch (error) {
    if (error instanceof PkiError) return undefined;
    throw error;
  }
}

/** Identities that a header from a trusted sender proves. */
function readElements(elements: readonly XfccElement[], authenticator: string): Verdict {
  const identities = elements.flatMap(({ uris, dns, subject }) => {
    const commonName = commonNameOf(subject ?? "");
    return [...uris, ...dns, ...(commonName === undefined ? [] : [commonName])];
  });
  if (identities.length === 0) return refused("the header names no identity");
  // differs: a certificate is issued for the hop that the trusted gateway has verified itself, the last one. Elements before
  // it are only as good as what the hops before passed on, and a client can send the first of them.
  const principal = elements.at(-1)?.uris.find((uri) => uri.startsWith("spiffe://"));
  return { authenticated: true, authenticator, identities, ...(principal !== undefined && { principal }) };
}

/** Callers that may pass requests on, and the check of the certificates in them. */
export interface ForwardedOptions {
  /** Proves who is at the other end of the connection. */
  readonly hop: Authenticator;
  /** True where one of these identities may pass on requests of others. */
  readonly isForwarder: (identities: readonly string[]) => boolean;
  /** Authenticates the caller's certificate. */
  readonly certificates: Authenticator;
}

/**
 * Requests that a service of ours passes on: it has ended the caller's mTLS and sends the caller's certificate in
 * `x-forwarded-client-cert`. Its own certificate proves that it may do so, and never proves the caller. The caller's is
 * judged as if it had been shown here, so that a revoked one is refused by whichever of the two services has the newer
 * list. Asks `direct` about every request that was not passed on.
 */
export function forwardedAuthenticator(options: ForwardedOptions, direct: Authenticator): Authenticator {
  const { hop, isForwarder, certificates } = options;
  const name = "forwarded";
  return {
    name: `${name}, ${direct.name}`,
    authenticate: async (caller: Caller): Promise<Verdict> => {
      const header = xfccOf(caller);
      if (header === undefined || caller.peerCertificate === undefined) return direct.authenticate(caller);
      const sender = await hop.authenticate(caller);
      if (!sender.authenticated || !isForwarder(sender.identities)) return direct.authenticate(caller);
      const peerCertificate = certificateOf(parseXfcc(header)?.at(-1));
      if (peerCertificate === undefined) return refused(`${name}: the header holds no certificate of the caller`);
      const verdict = await certificates.authenticate({ ...caller, peerCertificate });
      return verdict.authenticated ? { ...verdict, authenticator: name } : refused(`${name}: ${verdict.reason}`);
    },
  };
}

/**
 * Networks whose proxies may name the caller that they speak for. This host always belongs to them. Empty texts are skipped: they come from
 * an empty setting.
 * @throws AuthError AUTH_BAD_NETWORK
 */
export function trustedNetworks(cidrs: readonly string[]): (remoteAddress: string) => boolean {
  const networks = new BlockList();
  for (const cidr of cidrs) {
    if (cidr === "") continue;
    const [address = "", prefix = ""] = cidr.split("/");
    const version = isIP(address);
    if (version === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (version === 4 ? 32 : 128))
      throw new AuthError("AUTH_BAD_NETWORK", `${JSON.stringify(cidr)} is not a network such as 10.0.0.0/8`);
    networks.addSubnet(address, Number(prefix), version === 4 ? "ipv4" : "ipv6");
  }
  networks.addSubnet("127.0.0.0", 8, "ipv4");
  networks.addAddress("::1", "ipv6");
  return (remoteAddress) => {
    const host = hostOf(remoteAddress);
    if (host === undefined) return false;
    return networks.check(host, isIP(host) === 4 ? "ipv4" : "ipv6");
  };
}

/** The address in `ip:port`; without a port it is not an address of a connection. */
function hostOf(remoteAddress: string): string | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:]+)|((?:[0-9a-f]*:){2,}[0-9a-f.]*)):(\d+)$/i.exec(remoteAddress);
  const [host = ""] = (match?.[1] ?? match?.[2] ?? match?.[3] ?? "").split("%", 1);
  if (isIP(host) === 0) return undefined;
  // A dual-stack socket shows IPv4 callers as ::ffff:a.b.c.d.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(host)?.[1];
  return mapped ?? host;
}

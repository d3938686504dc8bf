/** Proof by a gateway that ended the caller's mTLS and names the caller in `x-forwarded-client-cert`. */
import { PkiError, parseCertificatesPem } from "@flotilla/pki";
import { type Authenticator, type Caller, refused, type Verdict } from "../authenticator.ts";
import { trustedNetworks } from "../trusted-networks.ts";
import { commonNameOf, parseXfcc, type XfccElement } from "./xfcc-header.ts";

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
export function xfccOf({ metadata }: Caller): string | undefined {
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

/** What a header proves that a trusted sender has written. */
function readElements(elements: readonly XfccElement[], authenticator: string): Verdict {
  const identities = elements.flatMap(({ uris, dns, subject }) => {
    const commonName = commonNameOf(subject ?? "");
    return [...uris, ...dns, ...(commonName === undefined ? [] : [commonName])];
  });
  if (identities.length === 0) return refused("the header names nobody");
  // differs: a certificate is issued for the hop that the trusted gateway has verified itself, the last one. Elements before
  // it are only as good as what the hops before passed on, and a client can send the first of them.
  const principal = elements.at(-1)?.uris.find((uri) => uri.startsWith("spiffe://"));
  return { authenticated: true, authenticator, identities, ...(principal !== undefined && { principal }) };
}

/** Proof by a gateway that ended the caller's mTLS and says, in `x-forwarded-client-cert`, who the caller was. */
import { type Authenticator, type Caller, refused, type Verdict } from "../authenticator.ts";
import { trustedNetworks } from "../trusted-networks.ts";
import { commonNameOf, parseXfcc, type XfccElement } from "./xfcc-header.ts";

export interface XfccOptions {
  /** Beside this host. */
  readonly trustedNetworks: readonly string[];
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
      return elements === undefined ? refused("the header is malformed") : readElements(elements, name);
    },
  };
}

/** Undefined if the caller sends none. */
export function xfccOf({ metadata }: Caller): string | undefined {
  return metadata.get("x-forwarded-client-cert")?.join(",") || undefined;
}

/** What a header proves that a trusted sender has written. */
export function readElements(elements: readonly XfccElement[], authenticator: string): Verdict {
  const identities = elements.flatMap(({ uris, dns, subject }) => {
    const commonName = subject === undefined ? undefined : commonNameOf(subject);
    return [...uris, ...dns, ...(commonName === undefined ? [] : [commonName])];
  });
  if (identities.length === 0) return refused("the header names nobody");
  // differs: a certificate is issued for the hop that the trusted gateway has verified itself, the last one. Elements before
  // it are only as good as what the hops before passed on, and a client can send the first of them.
  const principal = elements.at(-1)?.uris.find((uri) => uri.startsWith("spiffe://"));
  return { authenticated: true, authenticator, identities, ...(principal !== undefined && { principal }) };
}

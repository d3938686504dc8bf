/**
 * Requests that a service of ours hands on: it has ended the caller's mTLS and says in `x-forwarded-client-cert` who the
 * caller was. Its own certificate proves that it may say so, and never proves the caller.
 */
import { type Authenticator, type Caller, refused, type Verdict } from "../authenticator.ts";
import { readElements, xfccOf } from "./xfcc-authenticator.ts";
import { parseXfcc } from "./xfcc-header.ts";

export interface ForwardedOptions {
  /** Proves who is at the other end of the connection. */
  readonly hop: Authenticator;
  /** Whether one of these identities may hand on requests of others. */
  readonly isForwarder: (identities: readonly string[]) => boolean;
}

/** Asks `direct` about every request that was not handed on. */
export function forwardedAuthenticator({ hop, isForwarder }: ForwardedOptions, direct: Authenticator): Authenticator {
  const name = "forwarded";
  return {
    name: `${name}, ${direct.name}`,
    authenticate: async (caller: Caller): Promise<Verdict> => {
      const header = xfccOf(caller);
      if (header === undefined || caller.peerCertificate === undefined) return direct.authenticate(caller);
      const sender = await hop.authenticate(caller);
      if (!sender.authenticated || !isForwarder(sender.identities)) return direct.authenticate(caller);
      const elements = parseXfcc(header);
      return elements === undefined ? refused(`${name}: the header is malformed`) : readElements(elements, name);
    },
  };
}

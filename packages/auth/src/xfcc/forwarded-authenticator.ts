/**
 * Requests that a service of ours passes on: it has ended the caller's mTLS and sends the caller's certificate in
 * `x-forwarded-client-cert`. Its own certificate proves that it may do so, and never proves the caller. The caller's is judged as if it
 * had been shown here, so that a revoked one is refused by whichever of the two services has the newer list.
 */
import { type Authenticator, type Caller, refused, type Verdict } from "../authenticator.ts";
import { certificateOf, xfccOf } from "./xfcc-authenticator.ts";
import { parseXfcc } from "./xfcc-header.ts";

export interface ForwardedOptions {
  /** Proves who is at the other end of the connection. */
  readonly hop: Authenticator;
  /** Whether one of these identities may pass on requests of others. */
  readonly isForwarder: (identities: readonly string[]) => boolean;
  /** Authenticates the caller's certificate. */
  readonly certificates: Authenticator;
}

/** Asks `direct` about every request that was not passed on. */
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

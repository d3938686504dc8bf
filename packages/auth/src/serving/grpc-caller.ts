/** The sender of a gRPC call, in the form that authenticators read. */
import type { Caller } from "../authenticator.ts";

/** The part of a call of packages/raw-grpc that authentication reads. */
interface Call {
  readonly metadata: Caller["metadata"];
  /** `address:port`, an IPv6 address in brackets. */
  readonly peer: string;
  /** The client certificate, DER. */
  readonly peerCertificate: Buffer | undefined;
}

export function callerOf({ metadata, peer, peerCertificate }: Call): Caller {
  return { metadata, remoteAddress: peer, ...(peerCertificate !== undefined && { peerCertificate }) };
}

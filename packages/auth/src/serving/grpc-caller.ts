/** The sender of a gRPC call, in the form that authenticators read. */
import type { Caller } from "../authenticator.ts";

/** As packages/raw-grpc has it. */
interface Call {
  readonly metadata: Caller["metadata"];
  /** `address:port`, an IPv6 address in brackets. */
  readonly peer: string;
  /** DER. */
  readonly peerCertificate: Buffer | undefined;
}

export function callerOf({ metadata, peer, peerCertificate }: Call): Caller {
  return { metadata, remoteAddress: peer, ...(peerCertificate !== undefined && { peerCertificate }) };
}

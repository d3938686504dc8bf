/** The proofs that ca takes, and from whom. */
import { type PeerIdentity, type PeerRules, peerIdentity } from "@flotilla/auth";
import type { OwnCluster } from "@flotilla/auth/cluster";
import type { Settings } from "../settings.ts";

export interface AuthenticatorParts extends Required<Pick<PeerRules, "trustDomains" | "crls" | "nowMs" | "log">> {
  /** Where a Kubernetes API can be asked. */
  readonly review?: OwnCluster["review"] | undefined;
}

export function createIdentity(settings: Settings, { review, ...parts }: AuthenticatorParts): PeerIdentity {
  const { jwtRules, clockToleranceMs, audiences, trustedNetworks: gatewayNetworks } = settings;
  const { namespace, forwardingAccounts: accounts } = settings;
  return peerIdentity({
    ...parts,
    ...{ jwtRules, clockToleranceMs, gatewayNetworks },
    review: review && { ...review, audiences },
    // Services of ours that pass requests on, as xds-server does on its secure port.
    forwarders: { namespace, accounts },
  });
}

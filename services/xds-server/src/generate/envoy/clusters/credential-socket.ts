/**
 * The cluster of the socket beside a proxy where an SDS server of its pod serves credentials `sds://NAME`. It exists where the agent found the
 * socket when it started. Source: istiod asked, scenario gateways/credential-socket.
 */
import { create, type Duration } from "@flotilla/proto";
import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import type { SecretServer } from "../tls/agent-secret.ts";
import { httpOptions } from "./connection-pool.ts";

const name = "sds-external";

/** Servers at sockets know their credentials by the whole name. */
export const credentialSocket: SecretServer = { cluster: name, hostname: "", takesWholeNames: true };

export interface CredentialSocketInputs {
  readonly kind: "credential-socket";
  readonly connectTimeout: Duration | undefined;
}

export function buildCredentialSocket({ connectTimeout }: CredentialSocketInputs): Cluster {
  const address = { case: "pipe" as const, value: { path: "./var/run/secrets/credential-uds/socket" } };
  const endpoint = { hostIdentifier: { case: "endpoint" as const, value: { address: { address } } } };
  return create(ClusterSchema, {
    name,
    altStatName: `${name};`,
    connectTimeout: connectTimeout ?? { seconds: 10n, nanos: 0 },
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
    loadAssignment: { clusterName: name, endpoints: [{ lbEndpoints: [endpoint] }] },
    ...httpOptions({ protocol: "GRPC", meshUpgrades: false, sniffs: false }),
  });
}

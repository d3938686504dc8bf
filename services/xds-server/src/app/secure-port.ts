/** Who calls on which port, and the TLS port. */
import { type Authenticator, type PeerIdentity, type PeerRules, peerIdentity } from "@flotilla/auth";
import type { OwnCluster } from "@flotilla/auth/cluster";
import { droppedConnections, type OwnCertificate } from "@flotilla/auth/serving";
import { aborted, type Health, type Logger, type Metrics } from "@flotilla/runtime";
import type { AdsServer } from "../serve/ads-server.ts";
import type { StreamAuthentication } from "../serve/authenticate.ts";
import type { Settings } from "../settings.ts";
import { createCaPassthrough } from "./ca-passthrough.ts";
import { openServingMaterial } from "./serving-material.ts";

export function plaintextAuthentication(
  settings: Settings,
  authenticator: Authenticator,
): StreamAuthentication | undefined {
  return settings.authenticatePlaintext ? { authenticator, mode: "offered" } : undefined;
}

export interface SecurePortOptions {
  readonly settings: Settings;
  readonly ads: AdsServer;
  /** Who calls. */
  readonly peers: PeerIdentity;
  /** From ca. */
  readonly certificate: OwnCertificate;
  /** Where a signer can be asked. */
  readonly cluster: OwnCluster | undefined;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** xDS and the CA's service. Runs until `stop` fires; waits for ca as long as it takes. */
export async function serveSecure(options: SecurePortOptions, stop: AbortSignal): Promise<void> {
  const { settings, ads, peers, metrics, log } = options;
  const { authenticator, certificates } = peers;
  const { caAddress, caServerName } = settings;
  if (caAddress === undefined) return;
  await using material = await openServingMaterial({ ...options, caAddress }, stop);
  const { identity } = material;
  using ca = createCaPassthrough({ caAddress, caServerName, material: identity, certificates, metrics, log });
  const listening = { host: settings.host, port: settings.tlsPort, setting: "XDS_TLS_PORT" };
  const at = { ...listening, material: material.shown, dropped: droppedConnections(metrics) };
  await using port = await ads.serveTls(at, { authenticator, mode: "required" }, ca.methods);
  material.onChange(() => {
    port.reload(material.shown);
    ca.reload(material.identity);
  });
  log.info("serving with TLS", { port: port.port });
  await aborted(stop);
}

export interface IdentityParts extends Required<Pick<PeerRules, "trustDomains" | "crls" | "log">> {
  /** The cluster that confirms Kubernetes tokens. */
  readonly cluster: OwnCluster | undefined;
}

/** The proofs that xds-server takes: a client certificate or a token, for an identity of this mesh. */
export function createIdentity({ jwtRules, audiences }: Settings, { cluster, ...parts }: IdentityParts): PeerIdentity {
  const review = cluster && { ...cluster.review, audiences };
  return peerIdentity({ ...parts, jwtRules, review, nowMs: Date.now });
}

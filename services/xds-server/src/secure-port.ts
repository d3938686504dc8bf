/** Who calls on which port, and the TLS port. */
import {
  type Authenticator,
  clientCertificateAuthenticator,
  firstOf,
  jwtAuthenticator,
  ofTrustDomains,
  tokenReviewAuthenticator,
} from "@flotilla/auth";
import type { OwnCluster } from "@flotilla/auth/cluster";
import { aborted, type Health, type Logger, type Metrics } from "@flotilla/runtime";
import { createCaPassthrough } from "./ca-passthrough.ts";
import type { Config } from "./config.ts";
import type { AdsServer } from "./serve/ads-server.ts";
import type { StreamAuthentication } from "./serve/authenticate.ts";
import { openServingMaterial } from "./serving-material.ts";

export function plaintextAuthentication(
  config: Config,
  authenticator: Authenticator,
): StreamAuthentication | undefined {
  return config.authenticatePlaintext ? { authenticator, mode: "offered" } : undefined;
}

export interface SecurePortOptions {
  readonly config: Config;
  readonly ads: AdsServer;
  /** Who may open a stream. */
  readonly authenticator: Authenticator;
  /** Where a signer can be asked. */
  readonly cluster: OwnCluster | undefined;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** xDS and the CA's service. Runs until `stop` fires; waits for ca as long as it takes. */
export async function serveSecure(options: SecurePortOptions, stop: AbortSignal): Promise<void> {
  const { config, ads, authenticator, metrics, log } = options;
  const { caAddress, caServerName } = config;
  if (caAddress === undefined) return;
  await using material = await openServingMaterial({ ...options, caAddress }, stop);
  const certificates = clientCertificateAuthenticator({ nowMs: Date.now });
  const { identity } = material;
  using ca = createCaPassthrough({ caAddress, caServerName, material: identity, certificates, metrics, log });
  const at = { host: config.host, port: config.tlsPort, setting: "XDS_TLS_PORT", material: material.shown };
  await using port = await ads.serveTls(at, { authenticator, mode: "required" }, ca.methods);
  material.onChange(() => {
    port.reload(material.shown);
    ca.reload(material.identity);
  });
  log.info("serving with TLS", { port: port.port });
  await aborted(stop);
}

export interface AuthenticatorParts {
  /** Of the mesh, the first the one that tokens prove an identity of. */
  readonly trustDomains: () => readonly [string, ...string[]];
  readonly log: Logger;
  /** The cluster that confirms Kubernetes tokens. */
  readonly cluster: OwnCluster | undefined;
}

/** The proofs that xds-server takes: a client certificate or a token, for an identity of this mesh. */
export function createAuthenticator(
  { jwtRules, audiences }: Config,
  { trustDomains, log, cluster }: AuthenticatorParts,
): Authenticator {
  const nowMs = Date.now;
  const trustDomain = () => trustDomains()[0];
  const proofs = firstOf([
    clientCertificateAuthenticator({ nowMs }),
    ...jwtRules.map((rule) => jwtAuthenticator({ rule, trustDomain, nowMs, log })),
    ...(cluster === undefined ? [] : [tokenReviewAuthenticator({ ...cluster.review, audiences, trustDomain, nowMs })]),
  ]);
  return ofTrustDomains(trustDomains, proofs);
}

/** Who calls on which port, and the TLS port with a certificate from ca. */
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import {
  type Authenticator,
  clientCertificateAuthenticator,
  firstOf,
  jwtAuthenticator,
  ofTrustDomains,
  openLocalIssuer,
  tokenReviewAuthenticator,
} from "@flotilla/auth";
import type { OwnCluster } from "@flotilla/auth/cluster";
import { obtainServingCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { aborted, type Health, type Logger, type Metrics } from "@flotilla/runtime";
import { createCaPassthrough } from "./ca-passthrough.ts";
import type { Config } from "./config.ts";
import type { AdsServer } from "./serve/ads-server.ts";
import type { StreamAuthentication } from "./serve/authenticate.ts";

/** The service account that ca knows this service by. */
const serviceAccount = "flotilla-xds-server";

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
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** xDS and the CA's service. Runs until `stop` fires; waits for ca as long as it takes. */
export async function serveSecure(options: SecurePortOptions, stop: AbortSignal): Promise<void> {
  const { config, ads, authenticator, health, metrics, log } = options;
  const { caAddress, caServerName, rootFile, namespace } = config;
  if (caAddress === undefined) return;
  health.setCondition("certificate", `waiting for ca at ${caAddress}`, { blocks: false });
  let reload: ((material: TlsMaterial) => void) | undefined;
  await using certificate = await obtainServingCertificate(
    {
      caAddress,
      caServerName,
      rootFile,
      instance: `${hostname()}:${config.tlsPort}`,
      token: () => ownToken(config),
      names: [`istiod.${namespace}.svc`, `istiod.${namespace}.svc.cluster.local`],
      log,
      onRenewed: (material) => reload?.(material),
    },
    stop,
  );
  health.setCondition("certificate", undefined);
  const { material } = certificate;
  const certificates = clientCertificateAuthenticator({ nowMs: Date.now });
  using ca = createCaPassthrough({ caAddress, caServerName, material, certificates, metrics, log });
  const at = { host: config.host, port: config.tlsPort, setting: "XDS_TLS_PORT", material };
  await using port = await ads.serveTls(at, { authenticator, mode: "required" }, [ca]);
  reload = (next) => {
    port.reload(next);
    ca.reload(next);
  };
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

/** From a file (in Kubernetes, a projected token), else from the local issuer. */
async function ownToken({ tokenFile, workDir, namespace }: Config): Promise<string> {
  if (tokenFile !== undefined) return (await readFile(tokenFile, "utf8")).trim();
  const issuer = await openLocalIssuer(workDir);
  return issuer.mintToken({ namespace, serviceAccount });
}

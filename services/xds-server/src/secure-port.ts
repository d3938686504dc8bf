/** Who calls on which port, and the TLS port with a certificate from ca. */
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { clientCertificateAuthenticator, firstOf, jwtAuthenticator, openLocalIssuer } from "@flotilla/auth";
import { obtainServingCertificate } from "@flotilla/auth/serving";
import { aborted, type Health, type Logger } from "@flotilla/runtime";
import type { Config } from "./config.ts";
import type { AdsServer } from "./serve/ads-server.ts";
import type { StreamAuthentication } from "./serve/authenticate.ts";

/** The service account that ca knows this service by. */
const serviceAccount = "flotilla-xds-server";

export function plaintextAuthentication(config: Config, log: Logger): StreamAuthentication | undefined {
  return config.authenticatePlaintext ? { authenticator: authenticatorOf(config, log), mode: "offered" } : undefined;
}

/** Runs until `stop` fires; waits for ca as long as it takes. */
export async function serveSecure(
  config: Config,
  ads: AdsServer,
  health: Health,
  log: Logger,
  stop: AbortSignal,
): Promise<void> {
  const { caAddress, caServerName, rootFile, namespace } = config;
  if (caAddress === undefined) return;
  health.setCondition("certificate", `waiting for ca at ${caAddress}`, { blocks: false });
  let reload: ((material: Parameters<Awaited<ReturnType<AdsServer["serveTls"]>>["reload"]>[0]) => void) | undefined;
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
  const at = { host: config.host, port: config.tlsPort, setting: "XDS_TLS_PORT", material: certificate.material };
  await using port = await ads.serveTls(at, { authenticator: authenticatorOf(config, log), mode: "required" });
  reload = (material) => port.reload(material);
  log.info("serving with TLS", { port: port.port });
  await aborted(stop);
}

function authenticatorOf({ jwtRules, trustDomain }: Config, log: Logger) {
  const nowMs = Date.now;
  return firstOf([
    clientCertificateAuthenticator({ nowMs }),
    ...jwtRules.map((rule) => jwtAuthenticator({ rule, trustDomain: () => trustDomain, nowMs, log })),
  ]);
}

/** From a file (in Kubernetes, a projected token), else from the local issuer. */
async function ownToken({ tokenFile, workDir, namespace }: Config): Promise<string> {
  if (tokenFile !== undefined) return (await readFile(tokenFile, "utf8")).trim();
  const issuer = await openLocalIssuer(workDir);
  return issuer.mintToken({ namespace, serviceAccount });
}

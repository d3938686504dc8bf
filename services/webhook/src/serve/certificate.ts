/**
 * The serving certificate: from files, or from ca. The last one from ca is kept, so that a webhook that starts while ca is
 * down serves at once as long as it is valid.
 */
import { mkdir, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { createSecureContext } from "node:tls";
import { openLocalIssuer, replaceFile } from "@flotilla/auth";
import { checkMaterial, obtainServingCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { aborted, type Logger } from "@flotilla/runtime";
import type { Settings } from "../config.ts";
import { followFiles } from "../watch/follow-files.ts";
import type { KeyPair } from "./https-server.ts";

/** The service account that ca knows this service by. */
const serviceAccount = "flotilla-webhook";

export interface CertificateOptions {
  readonly config: Settings;
  readonly log: Logger;
  /** Called with the first one and with each that follows. */
  readonly onCertificate: (keyPair: KeyPair) => void;
  /** Undefined: all is well again. */
  readonly onTrouble: (reason: string | undefined) => void;
}

/** Runs until `stop`. */
export async function followCertificate(options: CertificateOptions, stop: AbortSignal): Promise<void> {
  const { tlsCertFile, tlsKeyFile } = options.config;
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined)
    return followKeyFiles(options, [tlsCertFile, tlsKeyFile], stop);
  return followCa(options, stop);
}

async function followKeyFiles(
  { config, log, onCertificate, onTrouble }: CertificateOptions,
  files: readonly [string, string],
  stop: AbortSignal,
): Promise<void> {
  for await (const { texts, reason } of followFiles(files, config.filePollMs, stop)) {
    const [chainPem, keyPem] = texts ?? [];
    const trouble = chainPem === undefined || keyPem === undefined ? reason : pairTrouble({ chainPem, keyPem });
    if (trouble === undefined && chainPem !== undefined && keyPem !== undefined) {
      log.info("serving certificate read", { files });
      onCertificate({ chainPem, keyPem });
    } else log.warn("serving certificate refused, the one before stays in force", { files, reason: trouble });
    onTrouble(trouble);
  }
}

/** While the two files are being replaced, the key may be of another certificate. */
function pairTrouble({ chainPem, keyPem }: KeyPair): string | undefined {
  try {
    createSecureContext({ cert: chainPem, key: keyPem });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function followCa(
  { config, log, onCertificate, onTrouble }: CertificateOptions,
  stop: AbortSignal,
): Promise<void> {
  const { caAddress, caServerName, caRootFile, workDir } = config;
  const file = join(workDir, "webhook", "serving.json");
  const kept = await readKept(file, log);
  if (kept !== undefined) onCertificate(kept);
  onTrouble(`waiting for ca at ${caAddress}`);
  const take = (material: TlsMaterial): void => {
    onCertificate(material);
    keep(file, material, log).catch((error: unknown) => log.warn("serving certificate not kept", { file, error }));
  };
  await using certificate = await obtainServingCertificate(
    {
      caAddress,
      caServerName,
      instance: `${hostname()}:${config.port}`,
      rootFile: caRootFile ?? join(workDir, "root-cert.pem"),
      token: () => ownToken(config),
      names: servingNames(config),
      log,
      onRenewed: take,
    },
    stop,
  );
  take(certificate.material);
  onTrouble(undefined);
  await aborted(stop);
}

function servingNames({ servingNames: given, namespace, domain }: Settings): readonly string[] {
  if (given.length > 0) return given;
  const services = ["flotilla-webhook", "istiod"].flatMap((service) => [
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.${domain}`,
  ]);
  return [...services, "localhost"];
}

/** From a file (in Kubernetes, a projected token), else from the local issuer. */
async function ownToken({ tokenFile, workDir, namespace }: Settings): Promise<string> {
  if (tokenFile !== undefined) return (await readFile(tokenFile, "utf8")).trim();
  const issuer = await openLocalIssuer(workDir);
  return issuer.mintToken({ namespace, serviceAccount });
}

async function keep(file: string, material: TlsMaterial, log: Logger): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await replaceFile(file, JSON.stringify(material), 0o600);
  log.debug("serving certificate kept", { file });
}

/** One that is over or was damaged is as good as none. */
async function readKept(file: string, log: Logger): Promise<TlsMaterial | undefined> {
  try {
    const material = JSON.parse(await readFile(file, "utf8")) as TlsMaterial;
    checkMaterial(material, Date.now());
    return material;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ENOENT") {
      log.info("kept serving certificate is not used", { file, reason: (error as Error).message });
    }
    return undefined;
  }
}

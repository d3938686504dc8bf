/**
 * The serving certificate: from files, from a signer of the cluster, or from ca. The last one from ca is kept, so that a webhook
 * that starts while ca is down serves at once as long as it is valid.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { replaceFile } from "@flotilla/auth";
import { openApiServer, requestFromSigner, type SignerCall } from "@flotilla/auth/cluster";
import {
  checkMaterial,
  followKeyPair,
  type KeyPair,
  keyPairSourceOf,
  type OwnCertificate,
  type TlsMaterial,
} from "@flotilla/auth/serving";
import type { Logger } from "@flotilla/runtime";
import type { Settings } from "../settings.ts";

/** The service account under which ca accepts this service. */
export const serviceAccount = "flotilla-webhook";
const signerPrefix = "k8s.io/";

export interface CertificateOptions {
  readonly settings: Settings;
  /** From ca. */
  readonly certificate: OwnCertificate;
  readonly log: Logger;
  /** Called with the first one and with each that follows. */
  readonly onCertificate: (keyPair: KeyPair) => void;
  /** Undefined: all is well again. */
  readonly onTrouble: (reason: string | undefined) => void;
}

/** Runs until `stop`. @throws AuthError AUTH_BAD_PROVIDER */
export async function followCertificate(options: CertificateOptions, stop: AbortSignal): Promise<void> {
  const { settings, log, onCertificate: onKeyPair, onTrouble } = options;
  using api = settings.certProvider.startsWith(signerPrefix) ? await openApiServer(settings) : undefined;
  const sign = api && ((call: SignerCall) => requestFromSigner(api, call, log));
  const source = keyPairSourceOf(settings, { names: servingNames(settings), pollMs: settings.filePollMs, sign });
  if (source === undefined) {
    await followCa(options, stop);
    return;
  }
  if (source.type === "signer") onTrouble(`waiting for the signer of ${settings.certProvider}`);
  await followKeyPair(source, { log, onKeyPair, onTrouble }, stop);
}

async function followCa(
  { settings, certificate, log, onCertificate, onTrouble }: CertificateOptions,
  stop: AbortSignal,
): Promise<void> {
  const { caAddress, workDir } = settings;
  const file = join(workDir, "webhook", "serving.json");
  const kept = await readKept(file, log);
  if (kept !== undefined) onCertificate(kept);
  onTrouble(`waiting for ca at ${caAddress}`);
  const take = (material: TlsMaterial): void => {
    onCertificate(material);
    keep(file, material, log).catch((error: unknown) => log.warn("serving certificate not saved", { file, error }));
  };
  await certificate.follow((material) => {
    take(material);
    onTrouble(undefined);
  }, stop);
}

/** Those that ca is asked for: none where the port has its certificate from elsewhere. */
export function issuedNames(settings: Settings): readonly string[] {
  const { certProvider, tlsCertFile, tlsKeyFile } = settings;
  const hasFiles = tlsCertFile !== undefined && tlsKeyFile !== undefined;
  return hasFiles || certProvider.startsWith(signerPrefix) ? [] : servingNames(settings);
}

function servingNames({ servingNames: given, namespace, domain }: Settings): readonly string[] {
  if (given.length > 0) return given;
  const services = ["flotilla-webhook", "istiod"].flatMap((service) => [
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.${domain}`,
  ]);
  return [...services, "localhost"];
}

async function keep(file: string, material: TlsMaterial, log: Logger): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await replaceFile(file, JSON.stringify(material), 0o600);
  log.debug("serving certificate saved", { file });
}

/** One that is over or was damaged is as good as none. */
async function readKept(file: string, log: Logger): Promise<TlsMaterial | undefined> {
  try {
    const material = JSON.parse(await readFile(file, "utf8")) as TlsMaterial;
    checkMaterial(material, Date.now());
    return material;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ENOENT") {
      log.info("saved serving certificate ignored", { file, reason: (error as Error).message });
    }
    return undefined;
  }
}

/** The certificate that the API is served with: from files, or from ca. */
import { followKeyPair, type KeyPair, type OwnCertificate } from "@flotilla/auth/serving";
import type { Logger } from "@flotilla/runtime";
import type { ApiSettings } from "./api-settings.ts";

export type { KeyPair };

export interface CertificateOptions {
  readonly settings: ApiSettings;
  /** From ca. */
  readonly certificate: OwnCertificate;
  readonly log: Logger;
  /** Called with the first one and with each that follows. */
  readonly onCertificate: (keyPair: KeyPair) => void;
  /** Undefined: all is well again. */
  readonly onTrouble: (reason: string | undefined) => void;
}

/** The service account under which ca accepts this service. */
export const serviceAccount = "flotilla-config-controller";
const pollMs = 10_000;

/** Runs until `stop`. */
export async function followCertificate(options: CertificateOptions, stop: AbortSignal): Promise<void> {
  const { settings, certificate, log, onCertificate, onTrouble } = options;
  const { apiCertFile: certFile, apiKeyFile: keyFile, caAddress } = settings;
  if (certFile !== undefined && keyFile !== undefined) {
    const source = { type: "files", certFile, keyFile, pollMs } as const;
    return followKeyPair(source, { log, onKeyPair: onCertificate, onTrouble }, stop);
  }
  onTrouble(`waiting for ca at ${caAddress}`);
  await certificate.follow((material) => {
    onCertificate(material);
    onTrouble(undefined);
  }, stop);
}

/** The certificate that the API is served with: from files, or from ca. */
import { hostname } from "node:os";
import {
  caRootFileOf,
  followKeyPair,
  type KeyPair,
  obtainServingCertificate,
  serviceToken,
} from "@flotilla/auth/serving";
import { aborted, type Logger } from "@flotilla/runtime";
import type { ApiSettings } from "./api-settings.ts";

export type { KeyPair };

export interface CertificateOptions {
  readonly settings: ApiSettings;
  readonly log: Logger;
  /** Called with the first one and with each that follows. */
  readonly onCertificate: (keyPair: KeyPair) => void;
  /** Undefined: all is well again. */
  readonly onTrouble: (reason: string | undefined) => void;
}

/** The service account that ca knows this service by. */
export const serviceAccount = "flotilla-config-controller";
const pollMs = 10_000;

/** Runs until `stop`. */
export async function followCertificate(options: CertificateOptions, stop: AbortSignal): Promise<void> {
  const { apiCertFile, apiKeyFile } = options.settings;
  if (apiCertFile !== undefined && apiKeyFile !== undefined) {
    const { log, onCertificate: onKeyPair, onTrouble } = options;
    const source = { type: "files", certFile: apiCertFile, keyFile: apiKeyFile, pollMs } as const;
    return followKeyPair(source, { log, onKeyPair, onTrouble }, stop);
  }
  const { apiPort, caAddress } = options.settings;
  options.onTrouble(`waiting for ca at ${caAddress}`);
  return followCa({ ...options, instance: `${hostname()}:${apiPort}` }, stop);
}

/** By this name the certificate that ca issues knows the API on other hosts. */
export function serviceName({ namespace }: Pick<ApiSettings, "namespace">): string {
  return `${serviceAccount}.${namespace}.svc`;
}

/** The service's own identity. `instance` names the use among those of this account. Runs until `stop`. */
export async function followCa(
  { settings, log, onCertificate, onTrouble, instance }: CertificateOptions & { readonly instance: string },
  stop: AbortSignal,
): Promise<void> {
  const { caAddress, caServerName } = settings;
  await using certificate = await obtainServingCertificate(
    {
      caAddress,
      caServerName,
      instance,
      rootFile: caRootFileOf(settings),
      token: () => serviceToken({ ...settings, serviceAccount }),
      names: [serviceName(settings), "localhost"],
      log,
      onRenewed: onCertificate,
    },
    stop,
  );
  onCertificate(certificate.material);
  onTrouble(undefined);
  await aborted(stop);
}

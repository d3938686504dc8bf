/** A certificate in files, named as in a Secret of type kubernetes.io/tls, for whoever reads files: NATS, Redis, and their clients. */
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "@flotilla/runtime";
import { AuthError } from "../errors.ts";
import { replaceFile } from "../private-file.ts";
import { type ClientCertificateSettings, caRootFileOf } from "./ca-settings.ts";
import type { TlsMaterial } from "./material.ts";
import { serviceToken } from "./service-token.ts";
import { obtainServingCertificate } from "./serving-certificate.ts";

/** The key first: who reads while it is written finds a key without its certificate and tries again. */
export async function writeCertificateFiles(
  directory: string,
  { keyPem, chainPem, rootsPem }: TlsMaterial,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await replaceFile(join(directory, "tls.key"), keyPem, 0o600);
  await replaceFile(join(directory, "tls.crt"), chainPem, 0o644);
  await replaceFile(join(directory, "ca.crt"), rootsPem, 0o644);
}

export interface KeepOptions {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly log: Logger;
}

/**
 * Keeps a certificate of ca in CLIENT_CERTIFICATE_DIR until it is disposed of. Nobody waits for it: connections that need it
 * are tried until it is there. Does nothing where no directory is set. @throws AuthError AUTH_BAD_PROVIDER without CA_ADDRESS
 */
export function keepClientCertificate(
  settings: ClientCertificateSettings,
  { namespace, serviceAccount, log }: KeepOptions,
): AsyncDisposable {
  const { clientCertificateDir: directory, caAddress, caServerName, workDir, tokenFile } = settings;
  if (directory === undefined) return { [Symbol.asyncDispose]: () => Promise.resolve() };
  if (caAddress === undefined) throw new AuthError("AUTH_BAD_PROVIDER", "CLIENT_CERTIFICATE_DIR needs CA_ADDRESS");
  const write = (material: TlsMaterial): void => {
    writeCertificateFiles(directory, material).catch((error: unknown) =>
      log.error("client certificate not written", { directory, error }),
    );
  };
  const ended = new AbortController();
  const obtaining = obtainServingCertificate(
    {
      ...{ caAddress, caServerName, log, onRenewed: write },
      // By this name NATS knows its users; the identity has a trust domain in it, which is told over NATS.
      names: [`${serviceAccount}.${namespace}.svc`],
      rootFile: caRootFileOf(settings),
      instance: `${hostname()}:${directory}`,
      token: () => serviceToken({ tokenFile, workDir, namespace, serviceAccount }),
    },
    ended.signal,
  );
  const kept = obtaining.then(
    (certificate) => {
      write(certificate.material);
      return certificate;
    },
    (error: unknown) => {
      if (!ended.signal.aborted) log.error("client certificate cannot be kept", { directory, error });
      return undefined;
    },
  );
  return {
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await (await kept)?.[Symbol.asyncDispose]();
    },
  };
}

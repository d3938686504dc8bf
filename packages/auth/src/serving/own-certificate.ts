/**
 * The one certificate that a service has of ca: for its port, and as a client of ca, NATS and Redis. Its files are named as in a Secret
 * of type kubernetes.io/tls, for clients that read files. See docs/decisions/0170-one-certificate-of-a-service.md.
 */

import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { aborted, type Logger, orAborted } from "@flotilla/runtime";
import { AuthError } from "../errors.ts";
import { openLocalIssuer } from "../local-issuer.ts";
import { type ClientCertificateSettings, caRootFileOf } from "./ca-settings.ts";
import { type TlsMaterial, writeCertificateFiles } from "./material.ts";
import { obtainServingCertificate, type ServingCertificate } from "./serving-certificate.ts";

/** The service account of the certificate, and where ca is found. */
export interface OwnCertificateOptions {
  readonly settings: ClientCertificateSettings;
  readonly namespace: string;
  readonly serviceAccount: string;
  /** DNS names of the service's port, beside that of its account. */
  readonly names?: readonly string[];
  /** Of the service: distinguishes replicas on one host. */
  readonly port: number;
  /** Of the mesh, undefined while it is not known: a certificate for an identity of another one is replaced. */
  readonly trustDomain?: () => string | undefined;
  readonly log: Logger;
}

/** The certificate of this service, kept renewed until it is disposed of. */
export interface OwnCertificate extends AsyncDisposable {
  /**
   * Calls `take` with the certificate in use, and with each that follows. Waits for ca as long as it takes; runs until `stop`, or
   * rejects with its reason. @throws AuthError AUTH_BAD_PROVIDER without CA_ADDRESS
   */
  follow(take: (material: TlsMaterial) => void, stop: AbortSignal): Promise<void>;
}

/** NATS identifies its users by this name: the identity has a trust domain in it, which services learn over NATS. */
export function accountName({
  serviceAccount,
  namespace,
}: Pick<OwnCertificateOptions, "serviceAccount" | "namespace">) {
  return `${serviceAccount}.${namespace}.svc`;
}

/**
 * Asks ca once there is a use: at once where CLIENT_CERTIFICATE_DIR is set, in which the certificate is kept, else with the first
 * follower. @throws AuthError AUTH_BAD_PROVIDER with that directory and without CA_ADDRESS
 */
export function keepOwnCertificate(options: OwnCertificateOptions): OwnCertificate {
  const { settings, log } = options;
  const { clientCertificateDir: directory, caAddress } = settings;
  if (directory !== undefined && caAddress === undefined)
    throw new AuthError("AUTH_BAD_PROVIDER", "CLIENT_CERTIFICATE_DIR needs CA_ADDRESS");
  const ended = new AbortController();
  const followers = new Set<(material: TlsMaterial) => void>();
  const onRenewed = (material: TlsMaterial): void => {
    for (const take of followers) take(material);
  };
  let obtaining: Promise<ServingCertificate> | undefined;
  const obtained = (): Promise<ServingCertificate> => {
    obtaining ??= obtain(options, onRenewed, ended.signal);
    return obtaining;
  };
  const follow: OwnCertificate["follow"] = async (take, stop) => {
    const certificate = await orAborted(obtained(), stop);
    followers.add(take);
    take(certificate.material);
    await aborted(stop);
    followers.delete(take);
  };
  const keeping = directory === undefined ? undefined : keepFiles(directory, follow, log, ended.signal);
  return {
    follow,
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await keeping;
      // A failure is one of those that waited for it.
      const certificate = await obtaining?.catch(() => undefined);
      await certificate?.[Symbol.asyncDispose]();
    },
  };
}

async function obtain(
  { settings, names = [], port, trustDomain, log, ...account }: OwnCertificateOptions,
  onRenewed: (material: TlsMaterial) => void,
  stop: AbortSignal,
): Promise<ServingCertificate> {
  const { caAddress, caServerName, tokenFile, workDir } = settings;
  if (caAddress === undefined) throw new AuthError("AUTH_BAD_PROVIDER", "CA_ADDRESS is not set");
  const options = {
    ...{ caAddress, caServerName, log, onRenewed },
    names: [...new Set([accountName(account), ...names])],
    rootFile: caRootFileOf(settings),
    instance: `${hostname()}:${port}`,
    token: () => serviceToken({ tokenFile, workDir, ...account }),
    ...(trustDomain !== undefined && { trustDomain }),
  };
  return obtainServingCertificate(options, stop);
}

/** Connections that need the files are tried until they are there. */
async function keepFiles(
  directory: string,
  follow: OwnCertificate["follow"],
  log: Logger,
  stop: AbortSignal,
): Promise<void> {
  // One after the other: the files of two certificates must not mix.
  let written = Promise.resolve();
  const write = (material: TlsMaterial): void => {
    written = written
      .then(() => writeCertificateFiles(directory, material))
      .catch((error: unknown) => log.error("client certificate not written", { directory, error }));
  };
  try {
    await follow(write, stop);
  } catch (error) {
    if (!stop.aborted) log.error("client certificate not saved", { directory, error });
  }
  await written;
}

/** A token file, or the local issuer's directory and the account to mint a token for. */
export interface ServiceTokenOptions {
  readonly tokenFile: string | undefined;
  readonly workDir: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/**
 * The token by which a service of ours authenticates to ca before it has a certificate. From a file (in Kubernetes, a projected token),
 * else from the local issuer.
 */
export async function serviceToken(options: ServiceTokenOptions): Promise<string> {
  const { tokenFile, workDir, namespace, serviceAccount } = options;
  if (tokenFile !== undefined) return (await readFile(tokenFile, "utf8")).trim();
  const issuer = await openLocalIssuer(workDir);
  return issuer.mintToken({ namespace, serviceAccount });
}

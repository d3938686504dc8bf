/**
 * Obtains a certificate of ca, delivers it to its users (files, a running server, Envoys that ask by SDS) and does so again
 * with each that follows. A file has the time by which the next one must be delivered, for health checks.
 */
import { rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { AuthError } from "@flotilla/auth";
import {
  obtainServingCertificate,
  serviceToken,
  type TlsMaterial,
  writeCertificateFiles,
} from "@flotilla/auth/serving";
import type { SdsServer } from "@flotilla/dataplane";
import { aborted, type Logger } from "@flotilla/runtime";
import { CliError } from "../errors.ts";
import { reloadServer } from "./reload-server.ts";
import { notAfterMsOf, untilServed } from "./served-certificate.ts";

export interface KeepCertificateOptions {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** `host:port`. */
  readonly ca: string;
  readonly caName: string;
  readonly rootFile: string;
  readonly tokenFile: string | undefined;
  readonly workDir: string;
  readonly names: readonly string[];
  /** Directory of the files. */
  readonly out: string | undefined;
  /** Unix socket on which Envoys ask for it by SDS. */
  readonly sdsSocket: string | undefined;
  readonly reloadPidFile: string | undefined;
  readonly reloadRedis: string | undefined;
  readonly redisPasswordFile: string | undefined;
  /** Address of the server that must present it: `tls://HOST:PORT` or `nats://HOST:PORT`. */
  readonly servedBy: string | undefined;
  /** Holds the time, in seconds since 1970, until which the certificate need not have been renewed; 0 while a delivery fails. */
  readonly renewByFile: string | undefined;
  readonly once: boolean;
  readonly log: Logger;
}

/** Runs until `stop`, or with `once` until the first is delivered. Rejects with the reason of `stop` while it waits for ca. */
export async function keepCertificate(options: KeepCertificateOptions, stop: AbortSignal): Promise<void> {
  const { namespace, serviceAccount, ca, caName, rootFile, tokenFile, workDir, names, out, sdsSocket, log } = options;
  if (options.renewByFile !== undefined) await rm(options.renewByFile, { force: true });
  await using delivery = new Delivery(options, stop);
  await using serving = await obtainServingCertificate(
    {
      ...{ caAddress: ca, caServerName: caName, rootFile, names, log, endWhenRefused: options.once },
      instance: `${hostname()}:${out ?? sdsSocket}`,
      token: () => serviceToken({ tokenFile, workDir, namespace, serviceAccount }),
      onRenewed: (material) => delivery.start(material),
    },
    stop,
  ).catch((error: unknown) => {
    if (!(error instanceof AuthError)) throw error;
    throw new CliError("CLI_REFUSED", error.message.replace(/^\[[A-Z_]+\] /, ""), { cause: error });
  });
  delivery.start(serving.material);
  await delivery.settled();
  if (!options.once) await aborted(stop);
}

/** Delivers one certificate after the other; a delivery that is not done when the next one comes is aborted. */
class Delivery implements AsyncDisposable {
  readonly #options: KeepCertificateOptions;
  readonly #stop: AbortSignal;
  #sds: SdsServer | undefined;
  #superseded = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(options: KeepCertificateOptions, stop: AbortSignal) {
    this.#options = options;
    this.#stop = stop;
  }

  start(material: TlsMaterial): void {
    this.#superseded.abort();
    this.#superseded = new AbortController();
    const stop = AbortSignal.any([this.#stop, this.#superseded.signal]);
    const { out: directory, log } = this.#options;
    this.#last = this.#last
      .then(() => this.#deliver(material, stop))
      .catch((error: unknown) => {
        if (!stop.aborted) log.error("certificate not delivered", { directory, error });
      });
  }

  settled(): Promise<void> {
    return this.#last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#superseded.abort();
    await this.#last;
    await this.#sds?.[Symbol.asyncDispose]();
  }

  async #deliver(material: TlsMaterial, stop: AbortSignal): Promise<void> {
    const {
      out: directory,
      reloadPidFile: pidFile,
      reloadRedis: redisSocket,
      redisPasswordFile,
      servedBy,
      sdsSocket,
      log,
    } = this.#options;
    if (sdsSocket !== undefined) await this.#serve(sdsSocket, material);
    if (directory !== undefined) {
      await writeCertificateFiles(directory, material);
      log.info("certificate written", { directory });
      await reloadServer({ pidFile, redisSocket, redisPasswordFile, directory, log }, stop);
    }
    const onOverdue = () => this.#setRenewBy(0);
    if (servedBy !== undefined) await untilServed({ url: servedBy, material, log, onOverdue }, stop);
    if (!stop.aborted) await this.#setRenewBy(overdueMs(material, Date.now()));
  }

  async #serve(socket: string, { chainPem, keyPem, rootsPem }: TlsMaterial): Promise<void> {
    const certificate = { chain: chainPem, key: keyPem, roots: rootsPem };
    if (this.#sds !== undefined) return this.#sds.update(certificate);
    // gRPC's server is loaded only where it is asked for.
    const { serveSecrets } = await import("@flotilla/dataplane");
    this.#sds = await serveSecrets(socket, certificate);
    this.#options.log.info("certificate served over SDS", { socket });
  }

  async #setRenewBy(timeMs: number): Promise<void> {
    const { renewByFile } = this.#options;
    if (renewByFile !== undefined) await writeFile(renewByFile, `${Math.floor(timeMs / 1000)}\n`);
  }
}

/** It is renewed after half of what it has left: after three quarters something is wrong, and a quarter remains to mend it. */
function overdueMs({ chainPem }: TlsMaterial, nowMs: number): number {
  return nowMs + (notAfterMsOf(chainPem) - nowMs) * 0.75;
}

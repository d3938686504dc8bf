/**
 * The serving certificate of one of our own services, from the CA like any workload's: first proven by a token, later by the certificate in
 * use; renewed in good time and handed to the servers that use it.
 */
import { readFile } from "node:fs/promises";
import { type KeyAlgorithm, parseCertificatePem, parseCertificatesPem, type San } from "@flotilla/pki";
import { backoff, delay, FileReader, type Logger, sharedDelay } from "@flotilla/runtime";
import { AuthError } from "../errors.ts";
import { parseIdentity } from "../identity.ts";
import { requestCertificate } from "./ca-client.ts";
import { checkMaterial, type TlsMaterial } from "./material.ts";

/** Identity, names and proof of the certificate, and how it is renewed. */
export interface ServingCertificateOptions {
  readonly caAddress: string;
  readonly caServerName: string;
  /** Read for each attempt: it may appear late. When it changes, a certificate is obtained at once. */
  readonly rootFile: string;
  /** Of the mesh, undefined while it is not known: a certificate for an identity of another one is replaced, with back-off. */
  readonly trustDomain?: () => string | undefined;
  /** Names this process among those of its account, over restarts. */
  readonly instance?: string;
  readonly token: () => Promise<string>;
  /** Names the certificate should be for; the CA decides whether the caller may have them. */
  readonly names: readonly string[];
  readonly log: Logger;
  readonly keyType?: KeyAlgorithm;
  readonly ttlMs?: number;
  /** Rejects at once when the CA answers that the caller may not have the certificate; else it asks again, for rules may change. */
  readonly endWhenRefused?: boolean;
  /** Called with each certificate after the first. */
  readonly onRenewed?: (material: TlsMaterial) => void;
  readonly nowMs?: () => number;
  readonly random?: () => number;
}

/** A certificate in use; disposing of it ends the renewal. */
export interface ServingCertificate extends AsyncDisposable {
  /** The one in use now. */
  readonly material: TlsMaterial;
  readonly notAfterMs: number;
}

const dayMs = 86_400_000;
const lookMs = 1000;

/** Waits for the CA as long as it takes, and logs the wait. Rejects with the reason of `stop`. */
export async function obtainServingCertificate(
  options: ServingCertificateOptions,
  stop: AbortSignal,
): Promise<ServingCertificate> {
  const { log, nowMs = Date.now } = options;
  const ended = new AbortController();
  const signal = AbortSignal.any([stop, ended.signal]);
  const first = await attemptUntilGood(options, undefined, signal);
  let { material } = first;
  let times = checkMaterial(material, nowMs());
  log.info("serving certificate obtained", {
    names: options.names,
    notAfter: new Date(times.notAfterMs).toISOString(),
  });
  const renewing = renewForEver(
    options,
    () => material,
    first.rootsPem,
    signal,
    (next) => {
      material = next;
      times = checkMaterial(next, nowMs());
      log.info("serving certificate renewed", { notAfter: new Date(times.notAfterMs).toISOString() });
      options.onRenewed?.(next);
    },
  );
  return {
    get material() {
      return material;
    },
    get notAfterMs() {
      return times.notAfterMs;
    },
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await renewing;
    },
  };
}

async function renewForEver(
  options: ServingCertificateOptions,
  current: () => TlsMaterial,
  rootsOfFirst: string,
  stop: AbortSignal,
  take: (material: TlsMaterial) => void,
): Promise<void> {
  const { nowMs = Date.now, random = Math.random, trustDomain } = options;
  const replacements = backoff({ firstMs: lookMs, maxMs: 600_000, random });
  const rootReader = new FileReader([options.rootFile]);
  let roots = rootsOfFirst;
  let replaceAgainMs = 0;
  for (;;) {
    const { notBeforeMs, notAfterMs, sans } = parseCertificatePem(current().chainPem);
    const obtainedMs = nowMs();
    // Between 45 and 55 % of what it has left (it is back-dated): replicas that started together drift apart.
    const renewMs = obtainedMs + (notAfterMs - obtainedMs) * (0.45 + 0.1 * random());
    // A timer takes 24 days at most; looking often, clock changes count too, those back before its life as well.
    while (nowMs() < renewMs && nowMs() >= notBeforeMs && !stop.aborted) {
      await sharedDelay(Math.min(renewMs - nowMs(), lookMs), stop);
      // The CA goes over to another root: it waits for those who have not taken it. Without texts the next attempt reports the reason.
      if ((await rootReader.read()).texts?.[0] !== roots) break;
      if (isForeign(sans, trustDomain?.()) && nowMs() >= replaceAgainMs) {
        // The CA may receive another trust domain later than the caller.
        replaceAgainMs = nowMs() + replacements.next().value;
        break;
      }
    }
    if (stop.aborted) return;
    try {
      const next = await attemptUntilGood(options, current(), stop);
      roots = next.rootsPem;
      take(next.material);
    } catch (error) {
      if (!stop.aborted) throw error;
      return;
    }
  }
}

function isForeign(sans: readonly San[], trustDomain: string | undefined): boolean {
  const identities = sans.flatMap(({ type, value }) => (type === "uri" ? [parseIdentity(value)] : []));
  return trustDomain !== undefined && identities.some((identity) => identity && identity.trustDomain !== trustDomain);
}

interface Obtained {
  readonly material: TlsMaterial;
  /** By which ca was trusted: the file may have appeared, or changed, while ca was waited for. */
  readonly rootsPem: string;
}

async function attemptUntilGood(
  options: ServingCertificateOptions,
  current: TlsMaterial | undefined,
  stop: AbortSignal,
): Promise<Obtained> {
  const { log, caAddress, random = Math.random } = options;
  let last = "";
  for (const waitMs of backoff({ firstMs: 50, maxMs: 10_000, random })) {
    stop.throwIfAborted();
    try {
      return await attempt(options, current);
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      if (options.endWhenRefused === true && isRefusal(error)) throw error;
      // The same trouble is reported once, not at each attempt.
      if (error.message !== last)
        log.warn("waiting for a serving certificate", { ca: caAddress, reason: error.message });
      last = error.message;
    }
    await delay(waitMs, stop);
  }
  throw stop.reason;
}

/** PERMISSION_DENIED and INVALID_ARGUMENT: asking again gets the same answer. */
function isRefusal({ cause }: AuthError): boolean {
  const { code } = (cause ?? {}) as { readonly code?: unknown };
  return code === 7 || code === 3;
}

async function attempt(options: ServingCertificateOptions, current: TlsMaterial | undefined): Promise<Obtained> {
  const {
    caAddress: address,
    caServerName: serverName,
    rootFile,
    names,
    instance,
    keyType = "ecdsa-p256",
    ttlMs = dayMs,
  } = options;
  const nowMs = (options.nowMs ?? Date.now)();
  const rootsPem = await readRoot(rootFile);
  const call = {
    address,
    serverName,
    rootsPem,
    names,
    keyType,
    ttlMs,
    ...(instance !== undefined && { instance }),
  };
  const good = (material: TlsMaterial): Obtained => {
    checkMaterial(material, nowMs);
    return { material, rootsPem };
  };
  if (current !== undefined && checkMaterialQuietly(current, nowMs)) {
    try {
      return good(await requestCertificate({ ...call, proof: { current } }));
    } catch (error) {
      // A changed root makes the old certificate worthless; the token is the way back.
      if (!(error instanceof AuthError)) throw error;
      options.log.debug("renewal by certificate failed, trying the token", { reason: error.message });
    }
  }
  return good(await requestCertificate({ ...call, proof: { token: await readToken(options.token) } }));
}

function checkMaterialQuietly(material: TlsMaterial, nowMs: number): boolean {
  try {
    checkMaterial(material, nowMs);
    return true;
  } catch (error) {
    if (error instanceof AuthError) return false;
    throw error;
  }
}

async function readToken(token: () => Promise<string>): Promise<string> {
  try {
    return (await token()).trim();
  } catch (cause) {
    throw new AuthError("AUTH_CA_AWAY", `no token to ask with: ${(cause as Error).message}`, { cause });
  }
}

async function readRoot(rootFile: string): Promise<string> {
  try {
    const pem = await readFile(rootFile, "utf8");
    parseCertificatesPem(pem);
    return pem;
  } catch (cause) {
    const why = (cause as Error).message;
    throw new AuthError("AUTH_CA_AWAY", `the root certificate ${rootFile} cannot be read: ${why}`, { cause });
  }
}

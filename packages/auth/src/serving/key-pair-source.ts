/**
 * Serving certificates that ca does not issue: from files that others write, or from a signer of the cluster
 * (PILOT_CERT_PROVIDER=k8s.io/NAME, as istiod has it). Each new one is handed to the servers that use it.
 */
import { createSecureContext } from "node:tls";
import {
  buildCsr,
  csrPem,
  generatePrivateKey,
  isSameKey,
  parseCertificatePem,
  parsePrivateKey,
  privateKeyPem,
  sanOf,
} from "@flotilla/pki";
import { backoff, delay, followFiles, type Logger, sharedDelay } from "@flotilla/runtime";
import { AuthError } from "../errors.ts";
import type { KeyPairSettings } from "./ca-settings.ts";

/** A key and its certificate chain, both as PEM. */
export interface KeyPair {
  readonly keyPem: string;
  /** The certificate first, then those that lead to the root. */
  readonly chainPem: string;
}

interface SignerSource {
  readonly type: "signer";
  readonly names: readonly string[];
  readonly ttlMs: number;
  /** PEM of the certificate and what leads to its root. @throws AuthError */
  readonly sign: (csrPem: string, ttlMs: number) => Promise<string>;
  readonly nowMs?: () => number;
  readonly random?: () => number;
}

/** Files that are polled every `pollMs`, or a signer of the cluster. */
export type KeyPairSource =
  | { readonly type: "files"; readonly certFile: string; readonly keyFile: string; readonly pollMs: number }
  | SignerSource;

/** Callbacks of `followKeyPair`. */
export interface FollowKeyPairOptions {
  readonly log: Logger;
  /** Called with the first one and with each that follows. */
  readonly onKeyPair: (keyPair: KeyPair) => void;
  /** Undefined: all is well again. The pair before stays in force. */
  readonly onTrouble: (reason: string | undefined) => void;
}

const dayMs = 86_400_000;
const signerPrefix = "k8s.io/";
/** A timer takes 24 days at most; looking often, clock changes count too. */
const lookMs = 1000;

/** PEM of the certificate and what leads to its root. @throws AuthError */
export type SignCsr = (call: {
  readonly signer: string;
  readonly csrPem: string;
  readonly ttlMs: number;
}) => Promise<string>;

/** Inputs of `keyPairSourceOf` beside the settings: DNS names of the certificate and the cluster's signer. */
export interface KeyPairParts {
  readonly names: readonly string[];
  readonly pollMs: number;
  /** Signers of the cluster, where there is one. */
  readonly sign: SignCsr | undefined;
}

/** Files come first, then the signer; undefined: ca issues. @throws AuthError AUTH_BAD_PROVIDER */
export function keyPairSourceOf(
  { certProvider, tlsCertFile: certFile, tlsKeyFile: keyFile }: KeyPairSettings,
  { names, pollMs, sign }: KeyPairParts,
): KeyPairSource | undefined {
  if (certFile !== undefined && keyFile !== undefined) return { type: "files", certFile, keyFile, pollMs };
  const signer = signerOfProvider(certProvider);
  if (signer === undefined) return undefined;
  if (sign === undefined)
    throw new AuthError("AUTH_BAD_PROVIDER", `there is no cluster to ask the signer ${signer} in`);
  return { type: "signer", names, ttlMs: dayMs, sign: (csr, ttlMs) => sign({ signer, csrPem: csr, ttlMs }) };
}

function signerOfProvider(provider: string): string | undefined {
  if (provider === "" || provider === "istiod") return undefined;
  const signer = provider.startsWith(signerPrefix) ? provider.slice(signerPrefix.length) : "";
  if (!/^[^/]+\/.+$/.test(signer))
    throw new AuthError(
      "AUTH_BAD_PROVIDER",
      `PILOT_CERT_PROVIDER ${JSON.stringify(provider)} is neither istiod nor k8s.io/DOMAIN/NAME of a signer`,
    );
  return signer;
}

/** Runs until `stop` fires. */
export function followKeyPair(source: KeyPairSource, options: FollowKeyPairOptions, stop: AbortSignal): Promise<void> {
  return source.type === "files" ? followPairOfFiles(source, options, stop) : followSigner(source, options, stop);
}

async function followPairOfFiles(
  { certFile, keyFile, pollMs }: Extract<KeyPairSource, { readonly type: "files" }>,
  { log, onKeyPair, onTrouble }: FollowKeyPairOptions,
  stop: AbortSignal,
): Promise<void> {
  const files = [certFile, keyFile];
  for await (const { texts, reason } of followFiles(files, pollMs, stop)) {
    const [chainPem, keyPem] = texts ?? [];
    const trouble = chainPem === undefined || keyPem === undefined ? reason : pairTrouble({ chainPem, keyPem });
    if (trouble === undefined && chainPem !== undefined && keyPem !== undefined) {
      log.info("serving certificate read", { files });
      onKeyPair({ chainPem, keyPem });
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

async function followSigner(
  source: SignerSource,
  { log, onKeyPair, onTrouble }: FollowKeyPairOptions,
  stop: AbortSignal,
): Promise<void> {
  const { names, nowMs = Date.now, random = Math.random } = source;
  let waits = backoff({ firstMs: 1000, maxMs: 60_000, random });
  while (!stop.aborted) {
    try {
      const { keyPair, notBeforeMs, notAfterMs } = await requestPair(source, nowMs);
      waits = backoff({ firstMs: 1000, maxMs: 60_000, random });
      log.info("serving certificate signed", { names, notAfter: new Date(notAfterMs).toISOString() });
      onKeyPair(keyPair);
      onTrouble(undefined);
      const renewMs = nowMs() + (notAfterMs - nowMs()) * (0.45 + 0.1 * random());
      while (nowMs() < renewMs && nowMs() >= notBeforeMs && !stop.aborted)
        await sharedDelay(Math.min(renewMs - nowMs(), lookMs), stop);
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      log.warn("serving certificate not signed, trying again", { reason: error.message });
      onTrouble(error.message);
      await delay(waits.next().value, stop);
    }
  }
}

async function requestPair(
  { names, ttlMs, sign }: SignerSource,
  nowMs: () => number,
): Promise<{ readonly keyPair: KeyPair; readonly notBeforeMs: number; readonly notAfterMs: number }> {
  const key = await generatePrivateKey("ecdsa-p256");
  const keyPem = privateKeyPem(key);
  const chainPem = await sign(csrPem(buildCsr({ key, sans: names.map(sanOf) })), ttlMs);
  const wrong = (reason: string, cause?: unknown) =>
    new AuthError("AUTH_SIGNER_FAILED", `the signer's certificate ${reason}`, { cause });
  const leaf = readLeaf(chainPem, wrong);
  if (!isSameKey(parsePrivateKey(keyPem), leaf.publicKey)) throw wrong("is not for our key");
  if (leaf.notAfterMs <= nowMs()) throw wrong("is over already");
  if (leaf.notBeforeMs > nowMs()) throw wrong("is not valid yet");
  const shown = new Set(leaf.sans.map(({ value }) => value));
  const missing = names.find((name) => !shown.has(name));
  if (missing !== undefined) throw wrong(`lacks the name ${missing}`);
  return { keyPair: { keyPem, chainPem }, notBeforeMs: leaf.notBeforeMs, notAfterMs: leaf.notAfterMs };
}

function readLeaf(
  pem: string,
  wrong: (reason: string, cause: unknown) => AuthError,
): ReturnType<typeof parseCertificatePem> {
  try {
    return parseCertificatePem(pem);
  } catch (cause) {
    throw wrong("cannot be read", cause);
  }
}

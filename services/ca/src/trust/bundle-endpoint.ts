/** One SPIFFE bundle endpoint, asked again and again: its last good answer holds while it is away or answers nonsense. */
import { type Certificate, certificatePem, PkiError, parseCertificate } from "@flotilla/pki";
import { delayByWallClock, type Logger } from "@flotilla/runtime";
import { CaError } from "../errors.ts";

interface BundleEndpointOptions {
  readonly url: string;
  readonly refreshMs: number;
  readonly fetchText: FetchText;
  readonly log: Logger;
  /** PEM of the roots. */
  readonly onRoots: (pem: string) => void;
  readonly onProblem: (reason: string | undefined) => void;
}

/** @throws when there is no answer, or one that is no success. */
export type FetchText = (url: string) => Promise<string>;

const firstRetryMs = 1_000;
const shortestMs = 1_000;

/** Runs until `stop` fires. */
export async function followBundleEndpoint(options: BundleEndpointOptions, stop: AbortSignal): Promise<void> {
  const { url, refreshMs, fetchText, log, onRoots, onProblem } = options;
  let retryMs = firstRetryMs;
  while (!stop.aborted) {
    let waitMs = retryMs;
    try {
      const bundle = parseSpiffeBundle(await fetchText(url));
      onRoots(bundle.roots.map(certificatePem).join(""));
      onProblem(undefined);
      waitMs = Math.max(shortestMs, Math.min(bundle.refreshMs ?? refreshMs, refreshMs));
      retryMs = firstRetryMs;
    } catch (error) {
      if (!(error instanceof CaError || error instanceof PkiError || isFetchError(error))) throw error;
      const reason = `${url}: ${reasonOf(error)}`;
      if (retryMs === firstRetryMs) log.warn("SPIFFE bundle not read, the last one stays in force", { reason });
      onProblem(reason);
      retryMs = Math.min(retryMs * 2, refreshMs);
    }
    await delayByWallClock(waitMs, stop);
  }
}

const answerMs = 10_000;
const maxBytes = 1_048_576;

export const fetchText: FetchText = async (url) => {
  const response = await fetch(url, { signal: AbortSignal.timeout(answerMs), redirect: "error" });
  if (!response.ok) throw new CaError("CA_BAD_BUNDLE", `the answer has status ${response.status}`);
  const text = await response.text();
  if (text.length > maxBytes) throw new CaError("CA_BAD_BUNDLE", `the answer is larger than ${maxBytes} bytes`);
  return text;
};

/** Node's fetch fails with TypeError and hides why in its cause; a time-out is a DOMException. */
function isFetchError(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof DOMException;
}

function reasonOf(error: Error): string {
  return error.cause instanceof Error && error instanceof TypeError ? error.cause.message : error.message;
}

interface SpiffeBundle {
  readonly roots: readonly Certificate[];
  /** The interval at which the publisher asks to be polled. */
  readonly refreshMs?: number;
}

/**
 * SPIFFE trust bundles (SPIFFE_Trust_Domain_and_Bundle.md, 4): a JWK set with a certificate for each X.509 root. @throws
 * CaError CA_BAD_BUNDLE with the reason; PkiError when a certificate cannot be read.
 */
export function parseSpiffeBundle(text: string): SpiffeBundle {
  const { keys, spiffe_refresh_hint: hint } = read(text);
  if (!Array.isArray(keys)) throw bad("it has no keys");
  // Keys of tokens stand beside those of certificates.
  const x509 = keys.filter((key: unknown) => (key as { use?: unknown } | null)?.use === "x509-svid");
  const roots = x509.map((key: { readonly x5c?: unknown }, at) => {
    const [der, ...more] = Array.isArray(key.x5c) ? (key.x5c as unknown[]) : [];
    if (typeof der !== "string" || more.length > 0) throw bad(`key ${at} has not exactly one certificate in x5c`);
    return parseCertificate(Buffer.from(der, "base64"));
  });
  if (roots.length === 0) throw bad("it has no key of use x509-svid");
  return { roots, ...(typeof hint === "number" && hint > 0 && { refreshMs: hint * 1000 }) };
}

function read(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw new CaError("CA_BAD_BUNDLE", "the SPIFFE bundle is not JSON", { cause });
  }
  throw bad("it is not an object");
}

function bad(reason: string): CaError {
  return new CaError("CA_BAD_BUNDLE", `the SPIFFE bundle cannot be used: ${reason}`);
}

/** One SPIFFE bundle endpoint, asked again and again: what it said last holds while it is away or says nonsense. */
import { certificatePem, PkiError } from "@flotilla/pki";
import { delayByWallClock, type Logger } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import { parseSpiffeBundle } from "./spiffe-bundle.ts";

export interface BundleEndpointOptions {
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
      if (retryMs === firstRetryMs) log.warn("SPIFFE bundle not read, the last one holds", { reason });
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

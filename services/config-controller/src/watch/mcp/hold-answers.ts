/** Refusals of the same thing again and again wait longer each time: some servers take a refusal for a question. */
import type { ClientRequest } from "@flotilla/xds";

const firstMs = 1_000;
const maxMs = 60_000;

/** How long to wait before an answer is sent. */
export function answerHolder(): (answer: ClientRequest) => number {
  const refusals = new Map<string, { readonly message: string; readonly waitMs: number }>();
  return ({ typeUrl, error }) => {
    if (error === undefined) {
      refusals.delete(typeUrl);
      return 0;
    }
    const before = refusals.get(typeUrl);
    const waitMs = before?.message === error.message ? Math.min(Math.max(before.waitMs * 2, firstMs), maxMs) : 0;
    refusals.set(typeUrl, { message: error.message, waitMs });
    return waitMs;
  };
}

/**
 * Bounds on what a client may ask of one stream, before the request is taken in: what a subscription costs in time and memory grows
 * with its names, and each type keeps a state of its own.
 */
import { type ClientRequest, isDelta } from "./request.ts";
import type { StreamState } from "./stream-types.ts";

export interface RequestLimits {
  /** Types with a subscription on one stream. */
  readonly maxTypes: number;
  /** Names subscribed to on one stream, of all types together. */
  readonly maxNames: number;
}

/** Why a request is over the bounds; undefined for one that is within. A bound holds for what the stream would hold at most after it. */
export function overLimit(state: StreamState, request: ClientRequest, limits: RequestLimits): string | undefined {
  const isNewType = !state.types.has(request.typeUrl);
  if (isNewType && state.types.size >= limits.maxTypes) return `more than ${limits.maxTypes} types on one stream`;
  const asked = isDelta(request) ? request.subscribe.length + request.held.size : request.names.length;
  // Most requests acknowledge and name nothing, or as much as before: the other types need not be looked at.
  if (asked === 0) return undefined;
  let names = asked;
  for (const [typeUrl, { subscription }] of state.types)
    if (typeUrl !== request.typeUrl || isDelta(request)) names += subscription.names.size;
  return names > limits.maxNames ? `more than ${limits.maxNames} resource names on one stream` : undefined;
}

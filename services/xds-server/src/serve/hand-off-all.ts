/**
 * The end of all streams of a server that stops: spread over a time that follows from their number, so that other replicas are not met by
 * all of them in one moment, and bounded by what SHUTDOWN_DURATION leaves.
 */
import { delay } from "@flotilla/runtime";
import { streamEnd } from "./stream-end.ts";

/** A stream that can be ended with a status. */
export interface EndableStream {
  end(status: ReturnType<typeof streamEnd.shutdown>): void;
}

/** Bounds of the hand-off, in milliseconds. */
export interface HandOffLimits {
  /** Longest time in which the streams are ended. */
  readonly handOffMs: number;
  /** How long connections may stay open afterwards. */
  readonly drainMs: number;
}

export interface HandOffOptions extends HandOffLimits {
  /** 0 up to 1. */
  readonly random: () => number;
}

/** Fewer than a replica admits by default (PILOT_MAX_REQUESTS_PER_SECOND), as several may stop at a time. */
const streamsPerSecond = 200;

/** From the request to stop until connections are cut. */
export function longestDrainMs({ handOffMs, drainMs }: HandOffLimits): number {
  return handOffMs + drainMs;
}

/** The time that so many streams are spread over. */
export function handOffSpanMs(count: number, { handOffMs }: HandOffLimits): number {
  return Math.min(handOffMs, (count * 1_000) / streamsPerSecond);
}

/**
 * Ends every stream of the set at a moment of its own, and at last those that joined meanwhile. Resolves when all are asked to end. The set
 * may shrink at any time.
 */
export async function handOffAll<S extends EndableStream>(
  streams: ReadonlySet<S>,
  { random, ...limits }: HandOffOptions,
): Promise<void> {
  const spanMs = handOffSpanMs(streams.size, limits);
  await Promise.all(
    [...streams].map(async (stream) => {
      await delay(random() * spanMs);
      if (streams.has(stream)) stream.end(streamEnd.shutdown());
    }),
  );
  for (const stream of [...streams]) stream.end(streamEnd.shutdown());
}

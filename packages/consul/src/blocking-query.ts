/**
 * Asks the same question again and again, each time waiting for something newer than the last answer. Source: Consul's
 * page on blocking queries: an index that goes backwards starts anew, one below 1 counts as 1.
 */
import { backoff, delay } from "@flotilla/runtime";
import type { ConsulAnswer } from "./consul-client.ts";

/** One question and how its failures are retried. */
export interface BlockingQueryOptions {
  /** Resolves to undefined when it was cut short on purpose: the same question is asked again. */
  readonly ask: (index: number) => Promise<ConsulAnswer | undefined>;
  readonly onFailure: (error: unknown) => void;
  /** The least time between two answers, spread over its upper half: a service that flaps is not asked without end. */
  readonly pauseMs: number;
  readonly random: () => number;
}

/** Yields answers that may be new; ends when `stop` fires. */
export async function* blockingQuery(
  { ask, onFailure, pauseMs, random }: BlockingQueryOptions,
  stop: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  let index = 0;
  let waits = backoff({ firstMs: 100, maxMs: 10_000, random });
  while (!stop.aborted) {
    let answer: ConsulAnswer | undefined;
    try {
      answer = await ask(index);
    } catch (error) {
      if (stop.aborted) return;
      onFailure(error);
      // The agent may have been replaced by one with less data: its next answer counts, whatever the index.
      index = 0;
      await delay(waits.next().value, stop);
      continue;
    }
    waits = backoff({ firstMs: 100, maxMs: 10_000, random });
    if (answer === undefined) continue;
    const isNews = index === 0 || answer.index !== index;
    index = answer.index < index ? 0 : Math.max(answer.index, 1);
    if (!isNews) continue;
    yield answer.body;
    await delay((pauseMs * (1 + random())) / 2, stop);
  }
}

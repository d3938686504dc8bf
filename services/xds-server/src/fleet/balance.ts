/**
 * Replicas that serve more than their share hand streams off: after a rollout or when a replica was added, proxies would
 * otherwise stay where they are. Versions are equal on all replicas, so that a proxy which moves is sent nothing it has.
 */
import { delay, type Logger, sharedDelay } from "@flotilla/runtime";
import { type SnapshotStore, StateError } from "@flotilla/state";
import { readSummaries } from "../debug/fleet-status.ts";
import type { StreamRecord } from "../serve/stream-record.ts";

export interface BalanceOptions {
  /** Our key among the replicas. */
  readonly id: string;
  readonly streams: () => readonly StreamRecord[];
  /** Asks the client of a stream to connect again. */
  readonly disconnect: (streamId: string) => void;
  readonly store: Pick<SnapshotStore, "replicas" | "state">;
  /** Streams that may be handed off a second; 0: none. */
  readonly perSecond: number;
  /** 0 up to 1. */
  readonly random: () => number;
  readonly onHandedOff: () => void;
  readonly log: Logger;
  /** Between two looks. */
  readonly everyMs?: number | undefined;
}

/** Records of replicas are as old as this. */
const defaultEveryMs = 2_000;
/** Of the mean: less is not worth a reconnect. */
const tolerance = 0.1;

/**
 * How many streams to hand off now. Half of what is too much, since a balancer before the replicas may send some of them
 * back, and others hand off at the same time.
 */
export function surplus(own: number, others: readonly number[]): number {
  if (others.length === 0) return 0;
  const mean = others.reduce((sum, count) => sum + count, own) / (others.length + 1);
  return own - mean < 1 || own <= mean * (1 + tolerance) ? 0 : Math.ceil((own - mean) / 2);
}

/**
 * Runs until `stop` fires. A surplus counts when the previous check found it too: streams of others are known from records
 * of a moment ago, and while proxies connect to all replicas each would take its own for more than its share.
 */
export async function balanceStreams(options: BalanceOptions, stop: AbortSignal): Promise<void> {
  const { perSecond, log, everyMs = defaultEveryMs } = options;
  let before = 0;
  while (!stop.aborted && perSecond > 0) {
    await sharedDelay(everyMs, stop);
    const streams = options.streams().filter((stream) => !stream.isIdle());
    // One stream is never a surplus: idle replicas need not ask for the others.
    const now = streams.length < 2 ? 0 : surplus(streams.length, await streamsOfOthers(options));
    const count = Math.min(before, now, (perSecond * everyMs) / 1000);
    before = now;
    if (count === 0) continue;
    log.info("handing streams off", { count, streams: streams.length });
    for (const { id } of sample(streams, count, options.random)) {
      // Some jitter, so that those who come back do not come together.
      await delay((options.random() * everyMs) / count, stop);
      if (stop.aborted) return;
      options.disconnect(id);
      options.onHandedOff();
    }
  }
}

/** None while the store does not answer, whatever connection state it reports: a Redis that hangs must not end serving. */
async function streamsOfOthers({ id, store, log }: BalanceOptions): Promise<readonly number[]> {
  if (!store.state.connected) return [];
  try {
    const records = await readSummaries(store);
    return [...records].filter(([key]) => key !== id).map(([, { streams }]) => streams);
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    log.debug("number of streams of other replicas unknown, none are handed off", { error });
    return [];
  }
}

function sample<T>(all: readonly T[], count: number, random: () => number): readonly T[] {
  return all
    .map((one) => ({ one, at: random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ one }) => one);
}

/** Connected streams by position and subscriptions. Most share both, so a question about all costs little. */
export interface Standing {
  /** Everything up to it is answered. */
  readonly position: number;
  /** The results that what they have is made of. */
  readonly watched: readonly object[];
  /** Streams that stand here. */
  count: number;
}

export function standingsOf(streams: Iterable<StreamRecord>): readonly Standing[] {
  const all: Standing[] = [];
  const byWatched = new Map<readonly object[], Standing[]>();
  for (const stream of streams) {
    const [position, watched] = [stream.answeredPosition(), stream.watched()];
    const alike = byWatched.get(watched) ?? [];
    const known = alike.find((standing) => standing.position === position);
    if (known !== undefined) {
      known.count++;
      continue;
    }
    const standing = { position, watched, count: 1 };
    all.push(standing);
    alike.push(standing);
    byWatched.set(watched, alike);
  }
  return all;
}

/** Sources that run side by side: their groups in the order in which they come, each with the name of its source. */
import { BoundedQueue } from "./bounded-queue.ts";
import { orAborted } from "./wait.ts";

/** A source of groups with a name. */
export interface GroupSource<Group> {
  readonly name: string;
  groups(stop: AbortSignal): AsyncIterable<Group>;
}

/** A group with the name of its source. */
export interface NamedGroup<Group> {
  readonly source: string;
  readonly group: Group;
  /** Every source has given its first group, this one included. */
  readonly complete: boolean;
}

interface QueuedGroup<Group> {
  readonly source: string;
  readonly group: Group;
  /** Called when the reader asks for the group after this one. */
  readonly release: () => void;
}

/**
 * Reads the next group of a source once the reader has processed the last one, so that changes made meanwhile form one group; a queue of
 * small groups would make the reader wait for each. A failure of one source ends the iteration.
 */
export async function* mergeGroups<Group>(
  sources: readonly GroupSource<Group>[],
  stop: AbortSignal,
): AsyncGenerator<NamedGroup<Group>, void, undefined> {
  const queue = new BoundedQueue<QueuedGroup<Group>>(sources.length);
  const ended = new AbortController();
  const running = AbortSignal.any([stop, ended.signal]);
  const pumps = sources.map((source) => pump(source, queue, running));
  if (stop.aborted) queue.close();
  stop.addEventListener("abort", () => queue.close(), { once: true, signal: ended.signal });
  const waiting = new Set(sources.map(({ name }) => name));
  try {
    for await (const { source, group, release } of queue) {
      waiting.delete(source);
      yield { source, group, complete: waiting.size === 0 };
      release();
    }
  } finally {
    ended.abort();
    queue.close();
    await Promise.all(pumps);
  }
}

async function pump<Group>(
  source: GroupSource<Group>,
  queue: BoundedQueue<QueuedGroup<Group>>,
  stop: AbortSignal,
): Promise<void> {
  try {
    for await (const group of source.groups(stop)) {
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      await queue.put({ source: source.name, group, release }, stop);
      await orAborted(released, stop);
    }
  } catch (cause) {
    // The reader of the queue gets it; after the end it has no effect any more.
    if (!stop.aborted) queue.close(cause);
  }
}

/**
 * The last messages that a reader saw, one of each subject. Where the message at its position was replaced while the servers changed, they
 * distinguish a stream that went on from one that was rewound and written on.
 */
import type { JetStreamManager } from "nats";
import type { Mark } from "./bus.ts";
import { isNotFound, lastMessage } from "./jetstream.ts";

/** Subjects whose last messages are kept. Each that was replaced costs two requests when the reader finds other servers. */
const windowSize = 256;

export class ReadWindow {
  readonly #marks = new Map<string, Mark>();
  #isWhole: boolean;

  /** @param isWhole the reader has read nothing yet: it begins at the start of the stream */
  constructor(isWhole: boolean) {
    this.#isWhole = isWhole;
  }

  /** Adds a mark that has been read, in order. */
  add({ subject, sequence, storedAtMs }: Mark & { readonly subject: string }): void {
    this.#marks.delete(subject);
    this.#marks.set(subject, { sequence, storedAtMs });
    if (this.#marks.size <= windowSize) return;
    for (const oldest of this.#marks.keys()) {
      this.#marks.delete(oldest);
      break;
    }
    this.#isWhole = false;
  }

  /** The reader begins again at the start of the stream. */
  clear(): void {
    this.#marks.clear();
    this.#isWhole = true;
  }

  /**
   * True where reading on behind a position leads to the stream's present content. True where the newest message of the window that is
   * still there is the one that was read, each newer one has a newer value behind the position, and nothing else stands between the two: a
   * history that parted from the one that was read cannot have all three and differ in what is read next.
   */
  async leadsOn(
    manager: JetStreamManager,
    {
      stream,
      filters,
      position,
    }: { readonly stream: string; readonly filters: readonly string[]; readonly position: number },
  ): Promise<boolean> {
    let common = this.#isWhole ? 0 : undefined;
    for (const [subject, { sequence, storedAtMs }] of [...this.#marks].reverse()) {
      const storedNow = await timeOf(manager, stream, { seq: sequence });
      if (storedNow !== undefined) {
        if (storedNow.storedAtMs !== storedAtMs) return false;
        common = sequence;
        break;
      }
      if (((await lastMessage(manager, stream, subject))?.seq ?? 0) <= position) return false;
    }
    if (common === undefined) return false;
    for (const filter of filters) {
      const next = await timeOf(manager, stream, { seq: common + 1, next_by_subj: filter });
      if (next !== undefined && next.sequence <= position) return false;
    }
    return true;
  }
}

async function timeOf(
  manager: JetStreamManager,
  stream: string,
  query: { readonly seq: number; readonly next_by_subj?: string },
): Promise<Mark | undefined> {
  try {
    const { seq, timestamp } = await manager.streams.getMessage(stream, query);
    return { sequence: seq, storedAtMs: Date.parse(timestamp) };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Stores messages in JetStream, in order and once, through losses of the connection and of the stream. */
import { delay, type Logger, orAborted, Turns } from "@flotilla/runtime";
import { nuid } from "nats";
import type { OutgoingMessage } from "./bus.ts";
import { BusError } from "./errors.ts";
import { messageBytes } from "./held-changes.ts";
import type { MessageSender } from "./message-sender.ts";
import type { NatsLink } from "./nats-link.ts";
import { retryMs } from "./nats-options.ts";

/** The size of one message beside its payload and headers, at most. */
const overheadBytes = 1_024;
/** Shorter than an election in a cluster takes: an unanswered message is sent again with the same id, and stored once. */
const timeoutMs = 2_500;
/** Messages under way at once. */
const windowSize = 200;

/** Publishes in order; a retry carries the same message id, so that the server stores each message once. */
export class NatsPublishing {
  readonly #link: NatsLink;
  readonly #sender: MessageSender;
  readonly #log: Logger;
  readonly #turns = new Turns();

  constructor(link: NatsLink, sender: MessageSender, log: Logger) {
    this.#link = link;
    this.#sender = sender;
    this.#log = log;
  }

  get maxMessageBytes(): number {
    return (this.#link.connection.info?.max_payload ?? 1_048_576) - overheadBytes;
  }

  /** One batch after the other: a batch that is retried must not be overtaken. */
  publish(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    return this.#turns.take(() => this.#publishInOrder(messages));
  }

  async #publishInOrder(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    for (const message of messages) this.#refuseTooLarge(message);
    const sequences: number[] = [];
    for (const window of windows(messages)) sequences.push(...(await this.#publishWindow(window)));
    return sequences;
  }

  async #publishWindow(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    // A retry has the same id, so that the server stores it once.
    const waiting = new Map(messages.map((message, i) => [i, { ...message, id: nuid.next() }]));
    const sequences: number[] = [];
    for (let attempts = 0; waiting.size > 0; attempts++) {
      await this.#link.whenBack();
      const open = [...waiting];
      const onStored = (index: number, sequence: number) => {
        const [i = -1] = open[index] ?? [];
        sequences[i] = sequence;
        waiting.delete(i);
      };
      try {
        const unsent = open.map(([, message]) => message);
        await this.#sender.send(unsent, onStored, { withinMs: timeoutMs, lost: this.#link.lost });
      } catch (error) {
        if (attempts === 0) this.#log.warn("publishing is interrupted, trying again", { error });
        await this.#recover();
      }
    }
    return sequences;
  }

  #refuseTooLarge(message: OutgoingMessage): void {
    const bytes = messageBytes(message);
    if (bytes <= this.maxMessageBytes) return;
    throw new BusError(
      "BUS_PUBLISH",
      `${message.subject} has ${bytes} bytes, the server takes ${this.maxMessageBytes}`,
    );
  }

  /** A connection that stands while nothing is stored: the stream may be gone. */
  async #recover(): Promise<void> {
    await delay(retryMs, this.#link.closed);
    this.#link.closed.throwIfAborted();
    if (!this.#link.state.connected) return;
    const { lost } = this.#link;
    try {
      await orAborted(this.#link.look(), lost);
    } catch (error) {
      this.#log.debug("jetstream does not answer yet", { error });
    }
  }
}

/** Subjects within a window differ, so that a retry of one cannot put an older value over a newer one. */
function windows(messages: readonly OutgoingMessage[]): readonly (readonly OutgoingMessage[])[] {
  const found: OutgoingMessage[][] = [];
  let subjects = new Set<string>();
  for (const message of messages) {
    const current = found.at(-1);
    if (current === undefined || subjects.has(message.subject) || current.length >= windowSize) {
      found.push([message]);
      subjects = new Set([message.subject]);
    } else {
      current.push(message);
      subjects.add(message.subject);
    }
  }
  return found;
}

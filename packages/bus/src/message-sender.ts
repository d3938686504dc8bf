/**
 * Sends messages to JetStream together, and waits for their acknowledgements on one subscription. The client library's own `publish` makes a
 * timer, several promises and an error with a stack for each message, which is half of the CPU of publishing.
 */
import { orAborted, timeLimit } from "@flotilla/runtime";
import { createInbox, headers, type Msg, type NatsConnection } from "nats";
import type { OutgoingMessage } from "./bus.ts";
import { BusError } from "./errors.ts";
import { inboxPrefixOf } from "./nats-connection.ts";

/** A message with the id by which the server recognizes a retry. */
export interface IdentifiedMessage extends OutgoingMessage {
  readonly id: string;
}

/** How long to wait for all acknowledgements, and the loss of the connection. */
export interface SendOptions {
  readonly withinMs: number;
  readonly lost: AbortSignal;
}

/** Sends messages in order. */
export interface MessageSender {
  /**
   * Calls `onStored` with the index and the sequence of each message that is stored. Resolves when all are.
   * @throws the first failure, when no more answers are to come
   */
  send(
    messages: readonly IdentifiedMessage[],
    onStored: (index: number, sequence: number) => void,
    options: SendOptions,
  ): Promise<void>;
}

interface Acknowledgement {
  readonly stream?: string;
  readonly seq?: number;
  readonly error?: { readonly description?: string };
}

/** A message without an answer yet. */
interface Waiting {
  readonly subject: string;
  readonly onAnswer: (answer: Msg) => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Sends over a connection, which subscribes to its acknowledgements with the first message. */
export class JetStreamSender implements MessageSender {
  readonly #connection: NatsConnection;
  readonly #waiting = new Map<string, Waiting>();
  #inbox: string | undefined;
  #sent = 0;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  async send(
    messages: readonly IdentifiedMessage[],
    onStored: (index: number, sequence: number) => void,
    { withinMs, lost }: SendOptions,
  ): Promise<void> {
    const inbox = this.#subscribed();
    const first = this.#sent;
    this.#sent += messages.length;
    const replyOf = (index: number) => `${inbox}.${first + index}`;
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const open = new Set(messages.keys());
    const failures: unknown[] = [];
    const settle = (index: number, failure?: unknown) => {
      this.#waiting.delete(replyOf(index));
      if (failure !== undefined) failures.push(failure);
      if (open.delete(index) && open.size === 0) resolve();
    };
    for (const [index, message] of messages.entries()) {
      const reply = replyOf(index);
      const onAnswer = (answer: Msg) => {
        const sequence = sequenceOf(answer);
        if (typeof sequence === "number") onStored(index, sequence);
        settle(index, typeof sequence === "number" ? undefined : sequence);
      };
      const onFailure = (failure: unknown) => settle(index, failure);
      this.#waiting.set(reply, { subject: message.subject, onAnswer, onFailure });
      try {
        this.#connection.publish(message.subject, message.payload, { reply, headers: headersOf(message) });
      } catch (error) {
        settle(index, error);
      }
    }
    using limit = timeLimit(withinMs, lost);
    try {
      await orAborted(answered, limit.signal);
    } finally {
      for (const index of open) this.#waiting.delete(replyOf(index));
    }
    if (failures.length > 0) throw failures[0];
  }

  /** The subject below which the answers come. */
  #subscribed(): string {
    if (this.#inbox !== undefined) return this.#inbox;
    this.#inbox = createInbox(inboxPrefixOf(this.#connection));
    const callback = (_: unknown, answer: Msg) => this.#waiting.get(answer.subject)?.onAnswer(answer);
    this.#connection.subscribe(`${this.#inbox}.*`, { callback });
    void this.#watchRefusals();
    return this.#inbox;
  }

  /** A message that the server does not allow gets no answer. Ends with the connection. */
  async #watchRefusals(): Promise<void> {
    for await (const { permissionContext } of this.#connection.status()) {
      if (permissionContext?.operation !== "publish") continue;
      const { subject } = permissionContext;
      const failure = new BusError("BUS_CONNECT", `the server does not allow messages to ${subject}`);
      for (const one of [...this.#waiting.values()]) if (one.subject === subject) one.onFailure(failure);
    }
  }
}

/** Each name is there once: `set` would look for it twice. */
function headersOf({ headers: given = {}, id }: IdentifiedMessage) {
  const all = headers();
  for (const [name, value] of Object.entries(given)) all.append(name, value);
  all.append("Nats-Msg-Id", id);
  return all;
}

/** The failure in place of the sequence, where the message was not stored. */
function sequenceOf(answer: Msg): number | BusError {
  // No stream has the subject, or JetStream is not up yet.
  if (answer.data.length === 0) return new BusError("BUS_CONNECT", "no stream takes messages");
  const { stream, seq, error } = acknowledgementIn(answer.string());
  if (error === undefined && stream !== undefined && seq !== undefined) return seq;
  return new BusError("BUS_CONNECT", `a message was not stored: ${error?.description ?? "the answer names no stream"}`);
}

function acknowledgementIn(text: string): Acknowledgement {
  try {
    return JSON.parse(text) as Acknowledgement;
  } catch {
    // An exception would end the reading of all answers.
    return { error: { description: "the answer cannot be read" } };
  }
}

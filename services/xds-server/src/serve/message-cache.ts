/**
 * Messages on their way to clients. Encoded ones are shared by the streams that send the same: a nonce has to be unique within its
 * stream and type only, so a whole message with its nonce is shared by all streams that have not used that nonce. Each stream writes
 * one message at a time: a client that does not read costs one, and is closed when it has taken nothing for too long.
 */
import { frameOf, messageOf, type RawCall } from "@flotilla/raw-grpc";
import {
  encodeDeltaBody,
  encodeDeltaTail,
  encodeSotwBody,
  encodeSotwTail,
  type Form,
  type MessageBody,
} from "@flotilla/xds";
import { Deadlines, systemClock } from "../push/push-queue.ts";
import type { StreamMetrics } from "./stream-metrics.ts";

export interface EncodedMessage {
  /** The message with the head that it has on the wire. */
  readonly frame: Buffer;
  readonly nonce: string;
  /** Grows with every nonce. */
  readonly serial: number;
}

interface Entry {
  /** The message begins with the body; the rest is version and nonce. */
  message: EncodedMessage;
  version: string;
  readonly bodyBytes: number;
  usedAtMs: number;
}

export interface MessageCacheOptions {
  readonly maxBytes: number;
  readonly now: () => number;
  /** Starts every nonce, so that one of another server or an earlier process is never taken for ours. */
  readonly noncePrefix: string;
  /** The server's name: the identifier that clients show of their control plane. */
  readonly server?: string;
}

export class MessageCache {
  readonly #options: MessageCacheOptions;
  readonly #entries = { sotw: new Map<MessageBody, Entry>(), delta: new Map<MessageBody, Entry>() };
  #lastUsed: Entry | undefined;
  #bytes = 0;
  #serial = 0;

  constructor(options: MessageCacheOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `afterSerial`: of the last nonce that the stream used for the type. */
  encode(form: Form, body: MessageBody, version: string, afterSerial: number): EncodedMessage {
    const entries = this.#entries[form];
    const known = entries.get(body);
    if (known !== undefined) {
      // To the end: the order of the map is the order of use. Mostly it is there, since many streams send one message in turn.
      if (known !== this.#lastUsed) {
        entries.delete(body);
        entries.set(body, known);
        this.#lastUsed = known;
      }
      known.usedAtMs = this.#options.now();
      if (known.version === version && known.message.serial > afterSerial) return known.message;
      const message = this.#complete(form, messageOf(known.message.frame).subarray(0, known.bodyBytes), version);
      this.#bytes += message.frame.length - known.message.frame.length;
      known.message = message;
      known.version = version;
      return message;
    }
    const encoded = form === "sotw" ? encodeSotwBody(body) : encodeDeltaBody(body);
    const message = this.#complete(form, encoded, version);
    const entry = { message, version, bodyBytes: encoded.length, usedAtMs: this.#options.now() };
    entries.set(body, entry);
    this.#lastUsed = entry;
    this.#bytes += message.frame.length;
    this.#shrink();
    return message;
  }

  /** Drops messages that were not sent for `idleMs`. */
  sweep(idleMs: number): void {
    const before = this.#options.now() - idleMs;
    for (const entries of Object.values(this.#entries)) {
      for (const [body, entry] of entries) if (entry.usedAtMs < before) this.#drop(entries, body, entry);
    }
  }

  #complete(form: Form, body: Uint8Array, version: string): EncodedMessage {
    const serial = ++this.#serial;
    const { noncePrefix, server } = this.#options;
    const nonce = `${noncePrefix}${serial.toString(36)}`;
    const tail = (form === "sotw" ? encodeSotwTail : encodeDeltaTail)(version, nonce, server);
    return { frame: frameOf(body, tail), nonce, serial };
  }

  #shrink(): void {
    for (const entries of Object.values(this.#entries)) {
      for (const [body, entry] of entries) {
        if (this.#bytes <= this.#options.maxBytes) return;
        this.#drop(entries, body, entry);
      }
    }
  }

  #drop(entries: Map<MessageBody, Entry>, body: MessageBody, entry: Entry): void {
    entries.delete(body);
    if (entry === this.#lastUsed) this.#lastUsed = undefined;
    this.#bytes -= entry.message.frame.length;
  }
}

/** The part of its call that a stream needs. */
export type Wire = Pick<RawCall, "peer" | "write" | "end" | "cutConnection">;

export interface WriterOptions {
  readonly wire: Wire;
  /** Of all writers of a server. */
  readonly deadlines: WriteDeadlines;
  readonly metrics: Pick<StreamMetrics, "sendTime">;
  readonly now: () => number;
  /** The client takes nothing. */
  readonly onStuck: () => void;
  /** The message cannot leave any more. */
  readonly onFailed: (reason: string) => void;
  /** The message has left, or never will. */
  readonly onDone: () => void;
}

export type WriteDeadlines = Deadlines<Writer>;

export function writeDeadlines(stuckMs: number): WriteDeadlines {
  return new Deadlines({ clock: systemClock, limitMs: stuckMs, onLate: (writer) => writer.giveUp() });
}

export class Writer {
  readonly #options: WriterOptions;
  #isBusy = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** `left` is called when the message has left, or never will. */
  write(frame: Buffer, left: () => void): void {
    const { wire, deadlines, metrics, now, onFailed, onDone } = this.#options;
    this.#isBusy = true;
    const startedAt = now();
    deadlines.begin(this);
    wire.write(frame, (error) => {
      deadlines.done(this);
      this.#isBusy = false;
      left();
      if (error === undefined) metrics.sendTime((now() - startedAt) / 1000);
      else onFailed(error.message);
      onDone();
    });
  }

  giveUp(): void {
    const { wire, onStuck } = this.#options;
    onStuck();
    // It would not read an end either.
    wire.cutConnection();
  }
}

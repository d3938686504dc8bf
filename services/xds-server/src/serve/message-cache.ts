/**
 * Encoded messages, shared by the streams that send the same. A nonce has to be unique within its stream and type
 * only, so a whole message with its nonce is shared by all streams that have not used that nonce.
 */
import { frameOf, messageOf } from "@flotilla/raw-grpc";
import {
  encodeDeltaBody,
  encodeDeltaTail,
  encodeSotwBody,
  encodeSotwTail,
  type Form,
  type MessageBody,
} from "@flotilla/xds";

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
  /** Who answers: the identifier that clients show of their control plane. */
  readonly server?: string;
}

export class MessageCache {
  readonly #options: MessageCacheOptions;
  readonly #entries = { sotw: new Map<MessageBody, Entry>(), delta: new Map<MessageBody, Entry>() };
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
      entries.delete(body); // to the end: the order of the map is the order of use
      entries.set(body, known);
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
    entries.set(body, { message, version, bodyBytes: encoded.length, usedAtMs: this.#options.now() });
    this.#bytes += message.frame.length;
    this.#shrink();
    return message;
  }

  /** Drops what nobody has sent for `idleMs`. */
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
    this.#bytes -= entry.message.frame.length;
  }
}

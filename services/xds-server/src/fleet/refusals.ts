/**
 * Resources that connected proxies reject now, mapped back to the objects that they were made from, by the dependencies that were recorded
 * when they were made.
 */
import type { ProxyRefusal } from "@flotilla/model";
import type { Rejection } from "@flotilla/xds";
import type { Core } from "../app/core.ts";
import type { StreamObserver, StreamRecord } from "../serve/stream-record.ts";

export interface RefusalOptions {
  readonly core: Pick<Core, "explain" | "objectsOf" | "subjectOf">;
  /** Place in the fleet's sequence of the last change of an input of the core. */
  readonly lastChange: (input: string) => number | undefined;
  readonly nowMs: () => number;
}

interface Entry {
  readonly stream: StreamRecord;
  readonly typeUrl: string;
  readonly rejection: Rejection;
  readonly names: readonly string[];
  readonly atMs: number;
  readonly sinceMs: number;
  reported: ProxyRefusal | undefined;
}

/** More are reported by number only: a thousand proxies mostly refuse one resource. */
const maxReported = 100;
const maxNames = 20;
const maxMessage = 1_000;

export class Refusals {
  readonly #options: RefusalOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: RefusalOptions) {
    this.#options = options;
  }

  readonly observer: StreamObserver = {
    rejected: (stream, typeUrl, rejection, names) => {
      const atMs = this.#options.nowMs();
      const key = keyOf(stream, typeUrl);
      const sinceMs = this.#entries.get(key)?.sinceMs ?? atMs;
      this.#entries.set(key, { stream, typeUrl, rejection, names, atMs, sinceMs, reported: undefined });
    },
    acknowledged: (stream, typeUrl) => {
      if (this.#entries.size === 0) return;
      // The acknowledged message was a later one, without the rejected resources.
      const isWithheld = stream.types().get(typeUrl)?.rejection !== undefined;
      if (!isWithheld) this.#entries.delete(keyOf(stream, typeUrl));
    },
    closed: (stream) => {
      for (const [key, entry] of this.#entries) if (entry.stream === stream) this.#entries.delete(key);
    },
  };

  list(): readonly ProxyRefusal[] {
    return [...this.#entries.values()].slice(0, maxReported).map((entry) => {
      entry.reported ??= this.#report(entry);
      return entry.reported;
    });
  }

  #report({ stream, typeUrl, rejection, names, atMs, sinceMs }: Entry): ProxyRefusal {
    const resources = names.slice(0, maxNames);
    const { sent, acknowledged } = stream.types().get(typeUrl) ?? {};
    const [from, position] = [acknowledged?.position ?? 0, sent?.position ?? 0];
    const objects = this.#objectsOf(stream, typeUrl, resources, from);
    return {
      proxy: stream.proxy.id,
      typeUrl,
      resources,
      objects,
      message: shortened(rejection.message),
      position,
      atMs,
      sinceMs,
    };
  }

  #objectsOf(stream: StreamRecord, typeUrl: string, names: readonly string[], from: number): readonly string[] {
    const { core, lastChange } = this.#options;
    const subject = core.subjectOf(stream.proxy);
    const inputs = new Set(names.flatMap((name) => core.explain(subject, typeUrl, name)));
    const found = [...inputs].flatMap((input) => core.objectsOf(input));
    const changed = found.filter(({ input }) => (lastChange(input) ?? 0) > from);
    return [...new Set((changed.length > 0 ? changed : found).map(({ object }) => object))].sort();
  }
}

/** Envoy may quote the whole resource; its reason is at both ends of the text. */
function shortened(message: string): string {
  if (message.length <= maxMessage) return message;
  return `${message.slice(0, maxMessage / 2)} … ${message.slice(-maxMessage / 2)}`;
}

function keyOf({ id }: StreamRecord, typeUrl: string): string {
  return `${id} ${typeUrl}`;
}

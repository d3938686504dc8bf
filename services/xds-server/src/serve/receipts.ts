/** What was sent and acknowledged last, per type of one stream. */
import type { StreamState } from "@flotilla/xds";
import type { Receipt, TypeRecord } from "./stream-record.ts";

interface Entry {
  serial: number;
  sent: Receipt;
  acknowledged: Receipt | undefined;
}

export class Receipts {
  readonly #entries = new Map<string, Entry>();

  /** Of the last nonce used for the type. */
  lastSerial(typeUrl: string): number {
    return this.#entries.get(typeUrl)?.serial ?? 0;
  }

  /** Of what was sent last for the type; 0 when nothing was. */
  lastPosition(typeUrl: string): number {
    return this.#entries.get(typeUrl)?.sent.position ?? 0;
  }

  sent(typeUrl: string, serial: number, sent: Receipt): void {
    this.#entries.set(typeUrl, { serial, sent, acknowledged: this.#entries.get(typeUrl)?.acknowledged });
  }

  acknowledged(typeUrl: string, nonce: string): Receipt | undefined {
    const entry = this.#entries.get(typeUrl);
    if (entry === undefined || entry.sent.nonce !== nonce) return undefined;
    entry.acknowledged = entry.sent;
    return entry.sent;
  }

  forget(typeUrl: string): void {
    this.#entries.delete(typeUrl);
  }

  /** As a debug page shows them. What a client that connected again showed to have counts as acknowledged `now`. */
  view({ types }: StreamState, now: Pick<Receipt, "atMs" | "position">): ReadonlyMap<string, TypeRecord> {
    const records = [...types].map(([typeUrl, { subscription, sent, due, rejection }]) => {
      const { wildcard, names } = subscription;
      const entry = this.#entries.get(typeUrl);
      const shown = sent && { nonce: "", version: sent.version, applied: undefined, resources: 0, bytes: 0, ...now };
      const record: TypeRecord = {
        subscribed: wildcard ? "*" : names.size,
        names: () => names,
        sent: entry?.sent,
        acknowledged: entry === undefined ? shown : entry.acknowledged,
        rejection,
        isDue: due !== undefined,
      };
      return [typeUrl, record] as const;
    });
    return new Map(records);
  }
}

/** What was sent and acknowledged last, per type of one stream. */
import type { StreamState, TypeState } from "@flotilla/xds";
import type { Receipt, TypeRecord } from "./stream-record.ts";

interface Entry {
  serial: number;
  sent: Receipt;
  acknowledged: Receipt | undefined;
}

interface Shown {
  readonly type: TypeState;
  readonly sent: Receipt | undefined;
  readonly acknowledged: Receipt | undefined;
  readonly record: TypeRecord;
}

export class Receipts {
  readonly #entries = new Map<string, Entry>();
  readonly #shown = new Map<string, Shown>();
  #lastView: { readonly state: StreamState; readonly records: ReadonlyMap<string, TypeRecord> } | undefined;

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

  /** As `view` shows it. */
  acknowledgedVersion(typeUrl: string, { types }: StreamState): string | undefined {
    const entry = this.#entries.get(typeUrl);
    return entry === undefined ? types.get(typeUrl)?.sent?.version : entry.acknowledged?.version;
  }

  forget(typeUrl: string): void {
    this.#entries.delete(typeUrl);
    this.#shown.delete(typeUrl);
  }

  /**
   * As a debug page shows them. What a client that connected again showed to have counts as acknowledged `now`. Made once per
   * state, which every message and answer changes: others look often, and little changes.
   */
  view(state: StreamState, now: Pick<Receipt, "atMs" | "position">): ReadonlyMap<string, TypeRecord> {
    if (this.#lastView?.state !== state) {
      const records = [...state.types].map(([typeUrl, type]) => [typeUrl, this.#recordOf(typeUrl, type, now)] as const);
      this.#lastView = { state, records: new Map(records) };
    }
    return this.#lastView.records;
  }

  /** The same object while nothing of the type changes: most pushes are about one type. */
  #recordOf(typeUrl: string, type: TypeState, now: Pick<Receipt, "atMs" | "position">): TypeRecord {
    const entry = this.#entries.get(typeUrl);
    const known = this.#shown.get(typeUrl);
    if (known?.type === type && known.sent === entry?.sent && known.acknowledged === entry?.acknowledged)
      return known.record;
    const record = recordOf(type, entry, now);
    this.#shown.set(typeUrl, { type, sent: entry?.sent, acknowledged: entry?.acknowledged, record });
    return record;
  }
}

function recordOf(
  { subscription: { wildcard, names }, sent, due, rejection }: TypeState,
  entry: Entry | undefined,
  now: Pick<Receipt, "atMs" | "position">,
): TypeRecord {
  const shown = sent && { nonce: "", version: sent.version, applied: undefined, resources: 0, bytes: 0, ...now };
  return {
    subscribed: wildcard ? "*" : names.size,
    names: () => names,
    sent: entry?.sent,
    acknowledged: entry === undefined ? shown : entry.acknowledged,
    rejection,
    isDue: due !== undefined,
  };
}

/** What was sent and acknowledged last, per type of one stream. */
import type { StreamState, TypeState } from "@flotilla/xds";
import type { SharedRecords, View } from "./shared-records.ts";
import type { Receipt, TypeRecord } from "./stream-record.ts";

interface Entry {
  serial: number;
  sent: Receipt;
  acknowledged: Receipt | undefined;
}

export class Receipts {
  readonly #shared: SharedRecords;
  readonly #entries = new Map<string, Entry>();
  #last: View | undefined;

  constructor(shared: SharedRecords) {
    this.#shared = shared;
  }

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
    this.#last = undefined;
  }

  /**
   * As a debug page shows them. What a client that connected again showed to have counts as acknowledged `now`. Looked at again
   * when the state is another one, which every message and answer changes: others look often, and little changes.
   */
  view(state: StreamState, now: Pick<Receipt, "atMs" | "position">): ReadonlyMap<string, TypeRecord> {
    const before = this.#last;
    if (before?.state === state) return before.records;
    const others = this.#shared.lastView(state);
    if (others !== undefined && this.#isOwn(others)) {
      this.#last = others;
      return others.records;
    }
    const records = [...state.types].map(([typeUrl, type]) => {
      return [typeUrl, this.#recordOf(typeUrl, type, before, now)] as const;
    });
    this.#last = this.#shared.view(state, records);
    return this.#last.records;
  }

  #isOwn({ records }: View): boolean {
    for (const [typeUrl, { sent, acknowledged }] of records) {
      const entry = this.#entries.get(typeUrl);
      if (entry === undefined || entry.sent !== sent || entry.acknowledged !== acknowledged) return false;
    }
    return true;
  }

  /** The record before while nothing of the type has changed: most pushes are about one type. */
  #recordOf(
    typeUrl: string,
    type: TypeState,
    before: View | undefined,
    now: Pick<Receipt, "atMs" | "position">,
  ): TypeRecord {
    const entry = this.#entries.get(typeUrl);
    const known = before?.state.types.get(typeUrl) === type ? before.records.get(typeUrl) : undefined;
    if (entry === undefined) {
      return known ?? this.#shared.record(type, undefined, type.sent && this.#shared.claim(type.sent.version, now));
    }
    const { sent, acknowledged } = entry;
    if (known?.sent === sent && known.acknowledged === acknowledged) return known;
    return this.#shared.record(type, sent, acknowledged);
  }
}

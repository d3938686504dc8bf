/**
 * What was sent and acknowledged last, per type of one stream. Records of streams to which the same happened are the same objects: a
 * thousand proxies with equal views are shown, compared and reported to other replicas as one.
 */
import { Identities, Interner, type StreamState, type TypeState } from "@flotilla/xds";
import type { EncodedMessage } from "./message-cache.ts";
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

/**
 * Records of streams to which the same happened are the same objects: a thousand proxies with equal views are shown, compared and
 * reported to other replicas as one.
 */
export interface View {
  readonly state: StreamState;
  /** By type URL. */
  readonly records: ReadonlyMap<string, TypeRecord>;
}

/** For so long after a message went to the first stream it counts as sent at the same time to others. */
const sameTimeMs = 1_000;

export class SharedRecords {
  readonly #identities = new Identities();
  readonly #receipts = new WeakMap<EncodedMessage, Receipt>();
  readonly #claims = new Interner<Receipt>();
  readonly #records = new Interner<TypeRecord>();
  readonly #views = new Interner<ReadonlyMap<string, TypeRecord>>();
  readonly #lastViews = new WeakMap<StreamState, View>();

  /** Of a message that is sent now. */
  receipt(message: EncodedMessage, sent: Omit<Receipt, "nonce">): Receipt {
    const known = this.#receipts.get(message);
    const isSame = known?.position === sent.position && known.applied === sent.applied;
    if (isSame && sent.atMs - known.atMs < sameTimeMs) return known;
    const receipt = { nonce: message.nonce, ...sent };
    this.#receipts.set(message, receipt);
    return receipt;
  }

  /** Of what a client that connected again showed to have. */
  claim(version: string, { atMs, position }: Pick<Receipt, "atMs" | "position">): Receipt {
    const second = atMs - (atMs % sameTimeMs);
    return this.#claims.intern(`${version} ${second} ${position}`, () => {
      return { nonce: "", version, atMs: second, position, applied: undefined, resources: 0, bytes: 0 };
    });
  }

  record(type: TypeState, sent: Receipt | undefined, acknowledged: Receipt | undefined): TypeRecord {
    const key = [type, sent, acknowledged].map((part) => this.#identityOf(part)).join();
    return this.#records.intern(key, () => {
      const { subscription, due, rejection } = type;
      const { wildcard, names } = subscription;
      const subscribed = wildcard ? "*" : names.size;
      return { subscribed, names: () => names, sent, acknowledged, rejection, isDue: due !== undefined };
    });
  }

  view(state: StreamState, records: readonly (readonly [string, TypeRecord])[]): View {
    // A record is of one type only.
    const key = records.map(([, record]) => this.#identityOf(record)).join();
    const view = { state, records: this.#views.intern(key, () => new Map(records)) };
    this.#lastViews.set(state, view);
    return view;
  }

  /** The last one that was made of the state, for whichever stream. */
  lastView(state: StreamState): View | undefined {
    return this.#lastViews.get(state);
  }

  #identityOf(value: object | undefined): number {
    return value === undefined ? 0 : this.#identities.of(value);
  }
}

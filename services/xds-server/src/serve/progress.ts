/**
 * The progress of one stream: the last messages sent and answered of each type, the changes that made the rest stale, and up to which position
 * in the fleet's sequence its client has answered everything. Records of streams to which the same happened are the same objects: a
 * thousand proxies with equal views are shown, compared and reported to other replicas as one.
 */
import type { AppliedSet } from "@flotilla/model";
import { Identities, Interner, type StreamState, type TurnMessage, type TypeState } from "@flotilla/xds";
import type { Deliveries, DeliveryTracker } from "./deliveries.ts";
import type { EncodedMessage } from "./message-cache.ts";
import type { ResourceSource } from "./resource-source.ts";
import type { Receipt, TypeRecord } from "./stream-record.ts";

/** The parts that the streams of a server share for it. */
interface Shared {
  readonly source: Pick<ResourceSource, "position" | "latest">;
  readonly records: SharedRecords;
  readonly deliveries: Deliveries;
}

export class Progress {
  readonly #context: Pick<Shared, "source" | "records">;
  readonly #connectedAtMs: number;
  readonly #receipts: Receipts;
  readonly #causes = new StaleCauses();
  readonly #owed: DeliveryTracker;
  #answeredAt = 0;
  #isOver = false;

  constructor(context: Shared, connectedAtMs: number) {
    this.#context = context;
    this.#connectedAtMs = connectedAtMs;
    this.#receipts = new Receipts(context.records);
    this.#owed = context.deliveries.tracker();
  }

  /** As debug pages show it. */
  types(state: StreamState): ReadonlyMap<string, TypeRecord> {
    return this.#receipts.view(state, { atMs: this.#connectedAtMs, position: this.#context.source.position });
  }

  acknowledgedVersion(typeUrl: string, state: StreamState): string | undefined {
    return this.#receipts.acknowledgedVersion(typeUrl, state);
  }

  /** The client has accepted or refused all that follows from the changes up to here; a lower bound while something is under way. */
  answeredPosition({ types }: StreamState): number {
    if (this.#isOver || types.size === 0) return this.#answeredAt;
    for (const { due, outstanding } of types.values())
      if (due !== undefined || outstanding.length > 0) return this.#answeredAt;
    return this.#context.source.position;
  }

  /** Of the last nonce used for the type, and the position of what was sent with it; 0 when nothing was. */
  last(typeUrl: string): { readonly serial: number; readonly position: number } {
    return { serial: this.#receipts.lastSerial(typeUrl), position: this.#receipts.lastPosition(typeUrl) };
  }

  /** A change concerns the type; `state` is that after it. */
  stale(typeUrl: string, { types }: StreamState): void {
    this.#causes.note(typeUrl, this.#context.source.latest);
    if (types.get(typeUrl)?.due !== undefined) this.#owed.expect(typeUrl);
  }

  sent({ typeUrl, version, body, again }: TurnMessage, message: EncodedMessage, bytes: number): Receipt {
    // Messages that are held back have yet to come.
    this.#owed.sent(typeUrl, bytes, again);
    const { source, records } = this.#context;
    const [applied, resources] = [this.#causes.take(typeUrl), body.resources.length];
    const { position } = source;
    const receipt = records.receipt(message, { version, atMs: Date.now(), position, applied, resources, bytes });
    this.#receipts.sent(typeUrl, message.serial, receipt);
    return receipt;
  }

  /** A turn has handled the due types; those not due any more and not sent have not changed. */
  looked(state: StreamState, hasSent: boolean): void {
    const isDue = (typeUrl: string) => state.types.get(typeUrl)?.due !== undefined;
    this.#owed.settled(isDue);
    this.#causes.settled(isDue);
    if (!hasSent) this.#answeredAt = this.answeredPosition(state);
  }

  /** The client took the message with the nonce: its receipt, when it is the last one. */
  acknowledged(typeUrl: string, nonce: string, state: StreamState): Receipt | undefined {
    const receipt = this.#receipts.acknowledged(typeUrl, nonce);
    this.#answered(typeUrl, state, "accepted");
    return receipt;
  }

  rejected(typeUrl: string, state: StreamState): void {
    this.#answered(typeUrl, state, "rejected");
  }

  /** The client has unsubscribed from the type. */
  forget(typeUrl: string): void {
    this.#receipts.forget(typeUrl);
    this.#causes.forget(typeUrl);
    this.#owed.forget(typeUrl);
  }

  /** The client is gone: nothing is waited for. */
  end(): void {
    this.#isOver = true;
    this.#owed.forget();
  }

  #answered(typeUrl: string, state: StreamState, answer: "accepted" | "rejected"): void {
    this.#answeredAt = this.answeredPosition(state);
    this.#owed.answered(typeUrl, answer);
  }
}

/** The changes that made a type of one stream stale, until that is sent or found to be nothing. */
class StaleCauses {
  /** Kept per type, since the same types become stale again. */
  readonly #byType = new Map<string, AppliedSet | undefined>();

  note(typeUrl: string, applied: AppliedSet | undefined): void {
    if (applied !== undefined) this.#byType.set(typeUrl, applied);
  }

  /** The last of them, for what is sent now. */
  take(typeUrl: string): AppliedSet | undefined {
    const applied = this.#byType.get(typeUrl);
    if (applied !== undefined) this.#byType.set(typeUrl, undefined);
    return applied;
  }

  forget(typeUrl: string): void {
    this.#byType.delete(typeUrl);
  }

  /** Changes that were found to alter nothing are not the cause of later ones. */
  settled(isDue: (typeUrl: string) => boolean): void {
    for (const [typeUrl, applied] of this.#byType)
      if (applied !== undefined && !isDue(typeUrl)) this.#byType.set(typeUrl, undefined);
  }
}

/** Of one type: the last nonce and what went with it. */
interface Entry {
  serial: number;
  sent: Receipt;
  acknowledged: Receipt | undefined;
}

/** The last sent and acknowledged messages, per type of one stream. */
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
   * As a debug page shows them. Resources that a client reported at its reconnect count as acknowledged `now`. Computed again when the
   * state is another one, which every message and answer changes: readers look often, and little changes.
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

/** A stream's records at the given state. */
export interface View {
  readonly state: StreamState;
  /** By type URL. */
  readonly records: ReadonlyMap<string, TypeRecord>;
}

/** For so long after a message went to the first stream it counts as sent at the same time to others. */
const sameTimeMs = 1_000;

/** The records of all streams of a server. */
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

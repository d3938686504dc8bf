/**
 * Records of streams to which the same happened are the same objects: a thousand proxies with equal views are shown, compared and
 * told to other replicas as one.
 */
import { Identities, Interner, type StreamState, type TypeState } from "@flotilla/xds";
import type { EncodedMessage } from "./message-cache.ts";
import type { Receipt, TypeRecord } from "./stream-record.ts";

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

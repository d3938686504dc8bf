/**
 * Holders of our certificates, as far as a rotation needs them: until when, from which root, and which roots were handed over with it.
 * Entries of several replicas are merged: the merge does not depend on their order.
 */
import { listOf, number, objectOf, parseShape, text } from "@flotilla/model";

export interface Holding {
  readonly identity: string;
  /** `pod ns/name uid`, `instance NAME` or `host ADDRESS`. */
  readonly place: string;
  /** The pod that the token named, whatever the place is. */
  readonly pod?: { readonly cluster: string; readonly namespace: string; readonly name: string; readonly uid: string };
  /** Id of the root that the certificate leads to. */
  readonly issuer: string;
  /** Ids of the roots that came with it, sorted. */
  readonly roots: readonly string[];
  readonly issuedMs: number;
  readonly notAfterMs: number;
}

export const shardCount = 64;

type Shard = Map<string, Holding>;

const pod = objectOf({ cluster: text, namespace: text, name: text, uid: text });
const holdings = listOf(
  objectOf(
    { identity: text, place: text, issuer: text, roots: listOf(text), issuedMs: number, notAfterMs: number },
    { pod },
  ),
);

export class Ledger {
  readonly #shards: readonly Shard[] = Array.from({ length: shardCount }, () => new Map());
  readonly #dirty = new Set<number>();

  record(holding: Holding): void {
    const index = shardOf(holding);
    this.#put(this.#shard(index), holding);
    this.#dirty.add(index);
  }

  /** Shards with entries that `text` has not reported yet. */
  takeDirty(): readonly number[] {
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    return dirty;
  }

  /** A shard that could not be reported is to be reported later. */
  markDirty(index: number): void {
    this.#dirty.add(index);
  }

  /** How many live entries of a shard are not among those stored, although they were written. */
  missingIn(index: number, stored: readonly Holding[], nowMs: number): number {
    if (this.#dirty.has(index)) return 0;
    const known = new Set(stored.map(nameOf));
    return this.#live(this.#shard(index), nowMs).filter((holding) => !known.has(nameOf(holding))).length;
  }

  /** Restores entries that an earlier process recorded; `missingIn` compares them with those stored. */
  restore(holdings: readonly Holding[]): void {
    for (const holding of holdings) this.#put(this.#shard(shardOf(holding)), holding);
  }

  /** Merges another replica's entries of a shard. */
  merge(index: number, others: readonly Holding[]): void {
    for (const holding of others) this.#put(this.#shard(index), holding);
  }

  /** The live entries of a shard; those that have ended are forgotten. */
  text(index: number, nowMs: number): string {
    return JSON.stringify(this.#live(this.#shard(index), nowMs));
  }

  /** Certificates that have not expired and were not replaced, as far as is known. */
  holdings(nowMs: number): readonly Holding[] {
    return this.#shards.flatMap((shard) => this.#live(shard, nowMs));
  }

  #shard(index: number): Shard {
    const shard = this.#shards[index];
    if (shard === undefined) throw new RangeError(`there is no shard ${index}`);
    return shard;
  }

  #live(shard: Shard, nowMs: number): readonly Holding[] {
    for (const [key, { notAfterMs }] of shard) if (notAfterMs <= nowMs) shard.delete(key);
    return [...shard.values()];
  }

  #put(shard: Shard, holding: Holding): void {
    const key = keyOf(holding);
    const known = shard.get(key);
    if (known === undefined) {
      shard.set(key, holding);
      return;
    }
    const [newest, other] = isNewer(holding, known) ? [holding, known] : [known, holding];
    // A holder that renews by the certificate in use names no pod, and is in the one of its first token.
    const isPodLost = newest.pod === undefined && other.pod !== undefined;
    shard.set(key, isPodLost ? { ...newest, pod: other.pod } : newest);
  }
}

/**
 * A pod and an instance have one certificate: a new one replaces the one before. Behind a host's address there may be several
 * workloads of one identity: there only certificates of one kind stand for each other, and the last to expire stays.
 */
function keyOf({ identity, place, issuer, roots }: Holding): string {
  const who = `${identity} ${place}`;
  return place.startsWith("host ") ? `${who} ${issuer} ${roots.join(" ")}` : who;
}

/** One certificate. */
function nameOf(holding: Holding): string {
  return `${keyOf(holding)} ${holding.issuer} ${holding.issuedMs} ${holding.notAfterMs}`;
}

function isNewer(a: Holding, b: Holding): boolean {
  const order = a.place.startsWith("host ") ? a.notAfterMs - b.notAfterMs : a.issuedMs - b.issuedMs;
  return order > 0 || (order === 0 && JSON.stringify(a) > JSON.stringify(b));
}

/** Parses the output of `text`. @throws RangeError that names the field, SyntaxError */
export function parseHoldings(json: string): readonly Holding[] {
  return parseShape(json, holdings);
}

/** Any spread does; it must be equal in all replicas. */
function shardOf({ identity, place }: Holding): number {
  let hash = 0;
  for (const char of identity + place) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  return hash % shardCount;
}

/** What a client wants of one type, and how requests of both forms change it. Pure. */
import { rulesOf } from "./resource-set.ts";

export interface Subscription {
  readonly wildcard: boolean;
  /** Names asked for explicitly, beside or instead of the wildcard. */
  readonly names: NameSet;
}

export interface SubscriptionChange {
  readonly next: Subscription;
  /** Names that must be answered even if the client was sent them before; "all" when everything is. */
  readonly asked: "all" | Names;
  /** Names the client gave up that the wildcard still may hold: it forgot them and must be sent again. */
  readonly dropped: Names;
}

const nothing: ReadonlySet<string> = new Set();
const wildcardName = "*";

export function wants(subscription: Subscription, name: string): boolean {
  return subscription.wildcard || subscription.names.has(name);
}

export function sameSubscription(a: Subscription, b: Subscription): boolean {
  return a.wildcard === b.wildcard && sameNames(a.names, b.names);
}

/** State of the world: each request has all names. Undefined: the client wants nothing of the type. */
export function sotwSubscription(
  typeUrl: string,
  before: Subscription | undefined,
  requested: readonly string[],
): SubscriptionChange | undefined {
  const { wildcard: isWildcardType, complete } = rulesOf(typeUrl);
  if (requested.length === 0) {
    // No names mean everything only until a client has named something.
    const wildcard = isWildcardType && (before === undefined || before.wildcard);
    if (!wildcard) return undefined;
    return { next: { wildcard, names: noNames }, asked: before === undefined ? "all" : nothing, dropped: nothing };
  }
  const wildcard = requested.includes(wildcardName);
  const given = requested.filter((name) => name !== wildcardName);
  if (before === undefined) return { next: { wildcard, names: nameSet(given) }, asked: "all", dropped: nothing };
  const added = [...new Set(given.filter((name) => name !== "" && !before.names.has(name)))].sort();
  const names = grownNames(before.names, given, added);
  const next = { wildcard, names };
  const changed = added.length > 0 || before.wildcard !== wildcard || (complete && !sameNames(before.names, names));
  // A response of such a type is the whole truth: it cannot hold the added names alone.
  return { next, asked: changed && complete ? "all" : new Set(added), dropped: nothing };
}

/** Most requests of a client that subscribes have all names of the one before, and some more. */
function grownNames(before: NameSet, given: readonly string[], added: readonly string[]): NameSet {
  // As many different names as that leave none out.
  const isGrown = given.length === before.size + added.length && new Set(given).size === given.length;
  return isGrown && !given.includes("") ? before.with(added) : nameSet(given);
}

export interface DeltaNames {
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Of the first request of a type: what the client has. */
  readonly held: Iterable<string>;
}

/** Delta: requests carry what is added and given up. A name that is asked for again must be sent again. */
export function deltaSubscription(
  typeUrl: string,
  before: Subscription | undefined,
  { subscribe, unsubscribe, held }: DeltaNames,
): SubscriptionChange {
  const asksForAll = subscribe.includes(wildcardName);
  const givesUpAll = unsubscribe.includes(wildcardName);
  const gone = new Set(unsubscribe);
  const asked = subscribe.filter((name) => name !== wildcardName && !gone.has(name));
  if (before === undefined) {
    const implied = subscribe.length === 0 && rulesOf(typeUrl).wildcard;
    const wildcard = (asksForAll || implied) && !givesUpAll;
    // What it has and does not name: of a wildcard client the wildcard's, of others their own names.
    const names = nameSet(wildcard ? asked : [...asked, ...held].filter((name) => !gone.has(name)));
    return { next: { wildcard, names }, asked: wildcard ? "all" : new Set(asked), dropped: nothing };
  }
  const wildcard = (before.wildcard || asksForAll) && !givesUpAll;
  if (!asksForAll && !givesUpAll && asked.length === 0 && gone.size === 0) {
    return { next: before, asked: nothing, dropped: nothing };
  }
  const names =
    gone.size === 0 ? before.names.with(asked) : nameSet([...before.names, ...asked].filter((name) => !gone.has(name)));
  const dropped = wildcard ? new Set(unsubscribe.filter((name) => before.names.has(name))) : nothing;
  return { next: { wildcard, names }, asked: asksForAll && !givesUpAll ? "all" : new Set(asked), dropped };
}

/** Reading a set of names; every Set of them is one. */
export interface Names extends Iterable<string> {
  readonly size: number;
  has(name: string): boolean;
}

/**
 * The first `size` names of a table, in the order in which they were added; others may add names to the table, after these. Envoy subscribes
 * to thousands of certificates one request at a time: a copy of the set for each request would be half a gigabyte of garbage for 2,000.
 */
class AddedNames implements Names {
  readonly size: number;
  readonly #places: Map<string, number>;

  constructor(places: Map<string, number> = new Map()) {
    this.#places = places;
    this.size = places.size;
  }

  has(name: string): boolean {
    return (this.#places.get(name) ?? this.size) < this.size;
  }

  *[Symbol.iterator](): Iterator<string> {
    let left = this.size;
    for (const name of this.#places.keys()) {
      if (left-- === 0) return;
      yield name;
    }
  }

  /** The same set where it has all of them. */
  with(more: Iterable<string>): AddedNames {
    let grown: Map<string, number> | undefined;
    for (const name of more) {
      if (this.has(name)) continue;
      // Another set has grown out of this one already: its names are not those of this one.
      grown ??=
        this.#places.size === this.size ? this.#places : new Map([...this].map((known, place) => [known, place]));
      if (!grown.has(name)) grown.set(name, grown.size);
    }
    return grown === undefined ? this : new AddedNames(grown);
  }
}

/** Names of both, those of `before` first. */
export function joinedNames(before: Names, more: Names): Names {
  if (more.size === 0) return before;
  if (before.size === 0) return more;
  return (before instanceof AddedNames ? before : new AddedNames().with(before)).with(more);
}

declare const brand: unique symbol;

/** The sorted names, joined by newlines (no resource name holds one); equal sets have equal keys. */
export type NameSetKey = string & { readonly [brand]: "NameSetKey" };

/** What is wanted of a type by name. */
export interface NameSet extends Names {
  /** Made when it is first asked for, as the order is: both cost as much as there are names. */
  readonly key: NameSetKey;
  /** In code unit order. */
  [Symbol.iterator](): Iterator<string>;
  /** The identical set where it has all of them. */
  with(more: Iterable<string>): NameSet;
}

class SortedNames implements NameSet {
  readonly #names: AddedNames;
  #sorted: readonly string[] | undefined;
  #key: NameSetKey | undefined;

  constructor(names: AddedNames) {
    this.#names = names;
  }

  get size(): number {
    return this.#names.size;
  }

  get key(): NameSetKey {
    this.#key ??= this.#inOrder().join("\n") as NameSetKey;
    return this.#key;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  with(more: Iterable<string>): NameSet {
    const names = this.#names.with(named(more));
    return names === this.#names ? this : new SortedNames(names);
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#inOrder()[Symbol.iterator]();
  }

  #inOrder(): readonly string[] {
    this.#sorted ??= [...this.#names].sort();
    return this.#sorted;
  }
}

function* named(names: Iterable<string>): Generator<string, void, undefined> {
  for (const name of names) if (name !== "") yield name;
}

/** The set of `names`; empty ones are left out. */
export function nameSet(names: Iterable<string>): NameSet {
  return new SortedNames(new AddedNames().with(named(names)));
}

export function sameNames(a: NameSet | undefined, b: NameSet | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.size === b.size && a.key === b.key);
}

/** In code unit order. */
export function namesOfKey(key: NameSetKey): readonly string[] {
  return key === "" ? [] : key.split("\n");
}

export const noNames: NameSet = nameSet([]);

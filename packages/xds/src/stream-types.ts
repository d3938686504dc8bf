/** The state of a stream, its events and its effects; the sets of names that its client asks for. */
import type { MessageBody } from "./message-body.ts";
import type { ClientRequest } from "./request.ts";
import type { ResourceSet } from "./resource-set.ts";

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

/** Names of a type that are subscribed to. */
export interface NameSet extends Names {
  /** Made when it is first asked for, as the order is: both cost as much as there are names. */
  readonly key: NameSetKey;
  /** In code unit order. */
  [Symbol.iterator](): Iterator<string>;
  /** The identical set where it has all of them. */
  with(more: Iterable<string>): NameSet;
}

class SortedNames implements NameSet {
  readonly size: number;
  readonly #names: AddedNames;
  #sorted: readonly string[] | undefined;
  #key: NameSetKey | undefined;

  constructor(names: AddedNames) {
    this.#names = names;
    this.size = names.size;
  }

  get key(): NameSetKey {
    this.#key ??= this.#inOrder().join("\n") as NameSetKey;
    return this.#key;
  }
  has(name: string): boolean {
    return this.#names.has(name);
  }
  with(more: Iterable<string>): NameSet {
    const names = this.#names.with(withoutEmpty(more));
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

function withoutEmpty(names: Iterable<string>): readonly string[] {
  return [...names].filter((name) => name !== "");
}

/** The set of `names`; empty ones are left out. */
export function nameSet(names: Iterable<string>): NameSet {
  return new SortedNames(new AddedNames().with(withoutEmpty(names)));
}

export function sameNames(a: NameSet | undefined, b: NameSet | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.size === b.size && a.key === b.key);
}

/** In code unit order. */
export function namesOfKey(key: NameSetKey): readonly string[] {
  return key === "" ? [] : key.split("\n");
}

export const noNames: NameSet = nameSet([]);

export interface Subscription {
  readonly wildcard: boolean;
  /** Names asked for explicitly, beside or instead of the wildcard. */
  readonly names: NameSet;
}

export interface StreamState {
  readonly types: ReadonlyMap<string, TypeState>;
  /** State of the world: types of which the client asked for nothing, so that it has nothing of them either. */
  readonly givenUp: ReadonlySet<string>;
  /** Clusters just sent whose endpoints the client has yet to ask for: routes to them wait. */
  readonly awaitedEndpoints: ReadonlySet<string>;
  /** Since when something due waits for the client. */
  readonly waitingSinceMs: number | undefined;
}

export interface TypeState {
  readonly subscription: Subscription;
  /** The client's resources, as far as they were sent or shown on this stream. */
  readonly sent: ResourceSet | undefined;
  /** The resources that a reconnecting client reports; until the first look at the resources. */
  readonly claim: Claim | undefined;
  readonly due: Due | undefined;
  /** Of the last message on this stream; empty before the first. */
  readonly nonce: string;
  /** Messages the client has not answered, oldest first; bounded. */
  readonly outstanding: readonly Outstanding[];
  /** Error detail of the last rejected message, until the client accepts a later one from which nothing is withheld. */
  readonly rejection: Rejection | undefined;
  /** Resources of a refused message, by name with version (empty: removed): the client may not have taken them. */
  readonly suspects: ReadonlyMap<string, string>;
  /**
   * State of the world: names missing in requests from before the last message. Those requests are passed over, but the client has
   * forgotten its state of these names, and is sent them again if it still subscribes to them.
   */
  readonly forgotten: ReadonlySet<string>;
}

export interface Outstanding {
  readonly nonce: string;
  readonly body: MessageBody;
}

export type Claim = { readonly version: string } | { readonly held: ReadonlyMap<string, { readonly version: string }> };

/** Why a type is to be looked at. Merges: a client that is slow to read gets one message for many changes. */
export interface Due {
  /** Names that are answered even if they did not change. */
  readonly asked: "all" | Names;
  /** Names given up that the wildcard still holds. */
  readonly dropped: Names;
  /** A message must go even if nothing is in it: the client waits for it. */
  readonly mustAnswer: boolean;
}

export interface Rejection {
  readonly nonce: string;
  readonly code: number;
  readonly message: string;
}

export type StreamEvent =
  | { readonly type: "request"; readonly request: ClientRequest }
  /** The resources of the type may have changed. */
  | { readonly type: "stale"; readonly typeUrl: string }
  /** The message that `plan` made of `set` was handed to the writer; `again`: something was held back. */
  | {
      readonly type: "sent";
      readonly typeUrl: string;
      readonly set: ResourceSet;
      readonly body: MessageBody;
      readonly nonce: string;
      readonly again?: boolean;
    }
  /** The type is not served to this client: its subscription is kept, and never answered. */
  | { readonly type: "unserved"; readonly typeUrl: string }
  /** `plan` found nothing to send. */
  | { readonly type: "settled"; readonly typeUrl: string; readonly set: ResourceSet };

export type Effect =
  | { readonly type: "due"; readonly typeUrl: string }
  | { readonly type: "acknowledged"; readonly typeUrl: string; readonly nonce: string }
  /** `isRepeat`: of no answer that is waited for. It is counted; logging and examining each is what a client could ask for without end. */
  | { readonly type: "rejected"; readonly typeUrl: string; readonly rejection: Rejection; readonly isRepeat: boolean }
  /** A nonce that is not the last one: the client had not seen the last message yet. */
  | { readonly type: "expired"; readonly typeUrl: string; readonly nonce: string }
  | { readonly type: "forgotten"; readonly typeUrl: string }
  /** A debug type: to be answered once. */
  | { readonly type: "question"; readonly typeUrl: string; readonly names: readonly string[] }
  | { readonly type: "health"; readonly healthy: boolean; readonly message: string };

export type Step = readonly [StreamState, readonly Effect[]];

export const nothing: ReadonlySet<string> = new Set();
const noSuspects: ReadonlyMap<string, string> = new Map();
/** Something may have changed. */
export const push: Due = { asked: nothing, dropped: nothing, mustAnswer: false };

export const newType: TypeState = {
  subscription: { wildcard: false, names: noNames },
  sent: undefined,
  claim: undefined,
  due: undefined,
  nonce: "",
  outstanding: [],
  rejection: undefined,
  suspects: noSuspects,
  forgotten: nothing,
};

/** True where the client waits for an answer, so that it is no mere push. */
export function isAnswer({ asked, dropped, mustAnswer }: Due): boolean {
  return mustAnswer || asked === "all" || asked.size > 0 || dropped.size > 0;
}

export function mergeDue(before: Due | undefined, more: Due): Due {
  if (before === undefined) return more;
  return {
    asked: before.asked === "all" || more.asked === "all" ? "all" : joinedNames(before.asked, more.asked),
    dropped: joinedNames(before.dropped, more.dropped),
    mustAnswer: before.mustAnswer || more.mustAnswer,
  };
}

export function withType(state: StreamState, typeUrl: string, next: TypeState): StreamState {
  return { ...state, types: new Map(state.types).set(typeUrl, next) };
}

/** The resources of the type may have changed. */
export function markStale(state: StreamState, typeUrl: string): Step {
  const known = state.types.get(typeUrl);
  if (known === undefined || known.due !== undefined) return [state, []];
  return [withType(state, typeUrl, { ...known, due: push }), [{ type: "due", typeUrl }]];
}

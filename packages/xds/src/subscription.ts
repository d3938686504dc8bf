/** A client's subscription of one type, and its changes by requests of both forms. Pure. */
import { rulesOf } from "./resource-set.ts";
import { type NameSet, type Names, nameSet, noNames, type Subscription, sameNames } from "./stream-types.ts";

export interface SubscriptionChange {
  readonly next: Subscription;
  /** Names that must be answered even if the client was sent them before; "all" when everything is. */
  readonly asked: "all" | Names;
  /** Names the client gave up that the wildcard still may hold: it forgot them and must be sent again. */
  readonly dropped: Names;
}

const nothing: ReadonlySet<string> = new Set();
const wildcardName = "*";

export function isSubscribed(subscription: Subscription, name: string): boolean {
  return subscription.wildcard || subscription.names.has(name);
}

export function sameSubscription(a: Subscription, b: Subscription): boolean {
  return a.wildcard === b.wildcard && sameNames(a.names, b.names);
}

/** State of the world: each request has all names. Undefined: the client subscribes to nothing of the type. */
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
  const given = wildcard ? requested.filter((name) => name !== wildcardName) : requested;
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
  /** Of the first request of a type: the versions that the client has. */
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
    // Held resources that the request does not name: of a wildcard client the wildcard's, of others their own names.
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

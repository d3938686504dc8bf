/** Names a state in which nothing is under way: equal keys, equal states. */
import { Identities } from "./identities.ts";
import type { StreamState, TypeState } from "./stream-types.ts";

/** Sets and interned names are compared by identity. */
const identities = new Identities();

/** Undefined while something is due, unanswered or refused. */
export function restKey({ types, givenUp, awaitedEndpoints, waitingSinceMs }: StreamState): string | undefined {
  if (awaitedEndpoints.size > 0 || waitingSinceMs !== undefined) return undefined;
  let key = `${[...givenUp].sort().join(" ")}\n`;
  for (const [typeUrl, type] of types) {
    if (!isAtRest(type)) return undefined;
    const { subscription, sent, nonce } = type;
    const names = identities.of(subscription.names);
    key += `${typeUrl} ${subscription.wildcard} ${names} ${sent === undefined ? "" : identities.of(sent)} ${nonce}\n`;
  }
  return key;
}

function isAtRest({ claim, due, outstanding, rejection, suspects, forgotten }: TypeState): boolean {
  if (claim !== undefined || due !== undefined || rejection !== undefined) return false;
  return outstanding.length === 0 && suspects.size === 0 && forgotten.size === 0;
}

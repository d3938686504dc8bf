/** A message was handed to the writer: what the client has from then on, and what it is waited for. */
import { typeUrl as types } from "@flotilla/proto";
import { isEdsCluster } from "./eds-cluster.ts";
import type { MessageBody } from "./message-body.ts";
import { noNames } from "./name-set.ts";
import type { ResourceSet } from "./resource-set.ts";
import type { StreamEvent, StreamState } from "./stream-types.ts";
import { rulesOf } from "./type-rules.ts";
import { markStale, nothing, push, withType } from "./type-state.ts";

/** A client that answers nothing is forgotten message by message, as if it had accepted the oldest. */
const maxOutstanding = 16;

export function afterSent(state: StreamState, event: StreamEvent & { readonly type: "sent" }): StreamState {
  const { typeUrl, set, body, nonce, again = false } = event;
  const known = state.types.get(typeUrl);
  if (known === undefined) return state;
  const suspects = known.suspects.size === 0 ? known.suspects : stillSuspect(known.suspects, set, body);
  const due = again ? push : undefined;
  const isAwaited = rulesOf(typeUrl).unanswered !== true;
  const outstanding = isAwaited ? [...known.outstanding.slice(1 - maxOutstanding), { nonce, body }] : [];
  const next = { ...known, sent: set, claim: undefined, due, nonce, outstanding, suspects };
  const changed = withType(state, typeUrl, next);
  if (typeUrl !== types.cluster) return changed;
  // Load assignments are versioned together with their clusters (see bindVersions).
  const [bound] = markStale(changed, types.endpoint);
  if (known.sent === undefined) return bound;
  return { ...bound, awaitedEndpoints: awaitedAfter(state, known.sent, set) };
}

function stillSuspect(
  suspects: ReadonlyMap<string, string>,
  set: ResourceSet,
  body: MessageBody,
): ReadonlyMap<string, string> {
  const sent = new Set(body.resources.map(({ name }) => name));
  return new Map(
    [...suspects].filter(([name, version]) => !sent.has(name) && set.byName.get(name)?.version === version),
  );
}

function awaitedAfter(state: StreamState, before: ResourceSet, after: ResourceSet): ReadonlySet<string> {
  const asked = state.types.get(types.endpoint)?.subscription.names ?? noNames;
  const added = [...after.byName.values()].filter(({ name }) => !before.byName.has(name) && !asked.has(name));
  const still = [...state.awaitedEndpoints].filter((name) => after.byName.has(name));
  const next = [...still, ...added.filter(({ bytes }) => isEdsCluster(bytes)).map(({ name }) => name)];
  return next.length === 0 ? nothing : new Set(next);
}

/**
 * One stream of either form as a state machine: `step(state, event) → [state, effects]`, without a
 * socket, a clock or a resource in sight. A request changes what is wanted and may make a type due; a due type
 * is answered when the writer gets to it (plan.ts), so that pushes and answers merge while it waits.
 */

import { typeUrl as types } from "@flotilla/proto";
import { isEdsCluster } from "./eds-cluster.ts";
import type { MessageBody } from "./message-body.ts";
import { receive } from "./receive.ts";
import type { ResourceSet } from "./resource-set.ts";
import { markStale, nothing, push, type Step, type StreamEvent, type StreamState, withType } from "./stream-types.ts";
import { type NameSet, noNames } from "./subscription.ts";
import { rulesOf } from "./type-rules.ts";

export const newStream: StreamState = {
  types: new Map(),
  givenUp: nothing,
  awaitedEndpoints: nothing,
  waitingSinceMs: undefined,
};

export function step(state: StreamState, event: StreamEvent): Step {
  switch (event.type) {
    case "request":
      return receive(state, event.request);
    case "stale":
      return markStale(state, event.typeUrl);
    case "sent":
      return [afterSent(state, event), []];
    case "unserved":
    case "settled": {
      const known = state.types.get(event.typeUrl);
      if (known === undefined) return [state, []];
      if (event.type === "unserved") return [withType(state, event.typeUrl, { ...known, due: undefined }), []];
      return [withType(state, event.typeUrl, { ...known, sent: event.set, claim: undefined, due: undefined }), []];
    }
  }
}

/** The same state with shared names: the subscriptions that Envoy derives from its clusters are the same on many streams. */
export function withInternedNames(
  state: StreamState,
  typeUrl: string,
  intern: (names: NameSet) => NameSet,
): StreamState {
  const known = state.types.get(typeUrl);
  if (known === undefined) return state;
  const names = intern(known.subscription.names);
  if (names === known.subscription.names) return state;
  return withType(state, typeUrl, { ...known, subscription: { ...known.subscription, names } });
}

/** A client that answers nothing is forgotten message by message, as if it had accepted the oldest. */
const maxOutstanding = 16;

function afterSent(state: StreamState, event: StreamEvent & { readonly type: "sent" }): StreamState {
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

/**
 * One stream of either form as a state machine: `step(state, event) → [state, effects]`, without a
 * socket, a clock or a resource in sight. A request changes what is wanted and may make a type due; a due type
 * is answered when the writer gets to it (plan.ts), so that pushes and answers merge while it waits.
 */

import { typeUrl as types } from "@flotilla/proto";
import { isEdsCluster } from "./eds-cluster.ts";
import type { MessageBody } from "./message-body.ts";
import { type NameSet, noNames } from "./name-set.ts";
import { type ClientRequest, type DeltaRequest, isDelta, type SotwRequest } from "./request.ts";
import type { ResourceSet } from "./resource-set.ts";
import type { Due, Effect, Outstanding, Rejection, Step, StreamEvent, StreamState, TypeState } from "./stream-types.ts";
import { deltaSubscription, type SubscriptionChange, sameSubscription, sotwSubscription } from "./subscription.ts";
import { healthType, isDebugType, rulesOf } from "./type-rules.ts";

/** A client that answers nothing is forgotten message by message, as if it had accepted the oldest. */
const maxOutstanding = 16;

const nothing: ReadonlySet<string> = new Set();
const noSuspects: ReadonlyMap<string, string> = new Map();
const push: Due = { asked: nothing, dropped: nothing, mustAnswer: false };

export const newStream: StreamState = { types: new Map(), awaitedEndpoints: nothing, waitingSinceMs: undefined };

const newType: TypeState = {
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

/** Whether the client waits for an answer, so that it is no mere push. */
export function isAnswer({ asked, dropped, mustAnswer }: Due): boolean {
  return mustAnswer || asked === "all" || asked.size > 0 || dropped.size > 0;
}

export function step(state: StreamState, event: StreamEvent): Step {
  switch (event.type) {
    case "request":
      return receive(state, event.request);
    case "stale": {
      const known = state.types.get(event.typeUrl);
      if (known === undefined || known.due !== undefined) return [state, []];
      return [withType(state, event.typeUrl, { ...known, due: push }), [{ type: "due", typeUrl: event.typeUrl }]];
    }
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

function receive(state: StreamState, request: ClientRequest): Step {
  const { typeUrl, nonce, error } = request;
  if (typeUrl === healthType) {
    return [state, [{ type: "health", healthy: error === undefined, message: error?.message ?? "" }]];
  }
  if (isDebugType(typeUrl)) {
    // What cannot be answered is answered with an error text, which such a client does not refuse.
    if (error !== undefined) return [state, []];
    const names = isDelta(request) ? request.subscribe : request.names;
    return [state, [{ type: "question", typeUrl, names }]];
  }
  if (error === undefined) return isDelta(request) ? receiveDelta(state, request) : receiveSotw(state, request);
  const rejection: Rejection = { nonce, code: error.code, message: error.message };
  const [rejected, effects] = reject(state, typeUrl, rejection);
  if (!isDelta(request) || !rejected.types.has(typeUrl)) return [rejected, effects];
  // Refusing is not answered, but a subscription that came with it would be lost for good.
  const [next, more] = changeDelta(rejected, request);
  return [next, [...effects, ...more]];
}

function reject(state: StreamState, typeUrl: string, rejection: Rejection): Step {
  const effects: readonly Effect[] = [{ type: "rejected", typeUrl, rejection }];
  const known = state.types.get(typeUrl);
  if (known === undefined) return [state, effects];
  const { answered, outstanding } = answer(known, rejection.nonce);
  const suspects = answered === undefined ? known.suspects : new Map([...known.suspects, ...contentsOf(answered.body)]);
  return [withType(state, typeUrl, { ...known, rejection, suspects, outstanding }), effects];
}

function contentsOf({ resources, removed }: MessageBody): readonly (readonly [string, string])[] {
  return [
    ...removed.map((name) => [name, ""] as const),
    ...resources.map(({ name, version }) => [name, version] as const),
  ];
}

/** A client answers in order: what was sent before the message it answers is answered too. */
function answer(
  { outstanding }: TypeState,
  nonce: string,
): { readonly answered: Outstanding | undefined; readonly outstanding: readonly Outstanding[] } {
  const index = outstanding.findIndex((message) => message.nonce === nonce);
  return { answered: outstanding[index], outstanding: index === -1 ? outstanding : outstanding.slice(index + 1) };
}

function receiveSotw(state: StreamState, request: SotwRequest): Step {
  const { typeUrl, nonce, version } = request;
  const known = state.types.get(typeUrl);
  const change = sotwSubscription(typeUrl, known?.subscription, request.names);
  if (change === undefined) return forget(state, typeUrl);
  const isRepeat =
    known !== undefined && nonce === "" && known.nonce === "" && (known.sent === undefined || version !== "");
  if (known === undefined || (nonce === "" && !isRepeat)) {
    // The first request of the type here: what the client has is as old as its version says.
    const due = merge(known?.due, { asked: "all", dropped: nothing, mustAnswer: true });
    const { next: subscription } = change;
    const next = { ...(known ?? newType), subscription, due, claim: version === "" ? undefined : { version } };
    return [withType(state, typeUrl, next), [{ type: "due", typeUrl }]];
  }
  if (nonce !== known.nonce) return passOver(state, request, known);
  const [accepted, effects] = isRepeat ? [state, []] : acknowledge(state, typeUrl, known);
  const [next, more] = subscribe(remembered(accepted, typeUrl), typeUrl, withForgotten(change, typeUrl, known));
  return [next, [...effects, ...more]];
}

/** The client had not seen the last message yet, and will say what it wants again when it has. */
function passOver(state: StreamState, { typeUrl, nonce, names }: SotwRequest, known: TypeState): Step {
  const [expired, effects] = expire(state, typeUrl, known, nonce);
  const missing = [...known.subscription.names].filter((name) => !names.includes(name));
  const now = expired.types.get(typeUrl);
  if (missing.length === 0 || now === undefined) return [expired, effects];
  return [withType(expired, typeUrl, { ...now, forgotten: new Set([...now.forgotten, ...missing]) }), effects];
}

function withForgotten(change: SubscriptionChange, typeUrl: string, { forgotten }: TypeState): SubscriptionChange {
  const wanted = [...forgotten].filter((name) => change.next.names.has(name));
  if (wanted.length === 0 || change.asked === "all") return change;
  return { ...change, asked: rulesOf(typeUrl).complete ? "all" : new Set([...change.asked, ...wanted]) };
}

function remembered(state: StreamState, typeUrl: string): StreamState {
  const known = state.types.get(typeUrl);
  if (known === undefined || known.forgotten.size === 0) return state;
  return withType(state, typeUrl, { ...known, forgotten: nothing });
}

function receiveDelta(state: StreamState, request: DeltaRequest): Step {
  const { typeUrl, nonce } = request;
  const known = state.types.get(typeUrl);
  if (known === undefined) return firstDelta(state, request);
  if (nonce === "") return changeDelta(state, request);
  const [accepted, effects]: Step =
    nonce === known.nonce ? acknowledge(state, typeUrl, known) : expire(state, typeUrl, known, nonce);
  // Envoy may add names to an acknowledgement; in this form they are said only once.
  const [next, more] = changeDelta(accepted, request);
  return [next, [...effects, ...more]];
}

function firstDelta(state: StreamState, request: DeltaRequest): Step {
  const { typeUrl, subscribe: asking, unsubscribe, held } = request;
  const change = deltaSubscription(typeUrl, undefined, { subscribe: asking, unsubscribe, held: held.keys() });
  const { next: subscription, asked, dropped } = change;
  const claim = held.size === 0 ? undefined : { held };
  // Whoever has nothing yet waits for a first answer, be it an empty one.
  const due = { asked, dropped, mustAnswer: subscription.wildcard && claim === undefined };
  const next: TypeState = { ...newType, subscription, claim, due };
  return [withType(state, typeUrl, next), [{ type: "due", typeUrl }]];
}

function changeDelta(state: StreamState, request: DeltaRequest): Step {
  const { typeUrl, subscribe: asking, unsubscribe } = request;
  const known = state.types.get(typeUrl);
  const names = { subscribe: asking, unsubscribe, held: [] };
  return subscribe(state, typeUrl, deltaSubscription(typeUrl, known?.subscription, names));
}

function subscribe(state: StreamState, typeUrl: string, { next, asked, dropped }: SubscriptionChange): Step {
  const known = state.types.get(typeUrl);
  if (known === undefined) return [state, []];
  const subscription = sameSubscription(known.subscription, next) ? known.subscription : next;
  const isAsking = asked === "all" || asked.size > 0 || dropped.size > 0;
  // Names that were only given up change what is watched, and need no answer.
  const due = isAsking ? merge(known.due, { asked, dropped, mustAnswer: false }) : known.due;
  if (subscription === known.subscription && due === known.due) return [state, []];
  const changed = withType(state, typeUrl, { ...known, subscription, due });
  return [changed, isAsking ? [{ type: "due", typeUrl }] : []];
}

function forget(state: StreamState, typeUrl: string): Step {
  if (!state.types.has(typeUrl)) return [state, []];
  const remaining = new Map(state.types);
  remaining.delete(typeUrl);
  return [{ ...state, types: remaining }, [{ type: "forgotten", typeUrl }]];
}

function acknowledge(state: StreamState, typeUrl: string, known: TypeState): Step {
  // A refused message stays refused, though later requests carry its nonce again, without the error.
  if (known.outstanding.length === 0) return [state, []];
  const next = { ...known, rejection: undefined, outstanding: [] };
  const effects: readonly Effect[] = [{ type: "acknowledged", typeUrl, nonce: known.nonce }];
  const changed = withType(state, typeUrl, next);
  if (typeUrl !== types.endpoint || state.awaitedEndpoints.size === 0) return [changed, effects];
  const { names } = known.subscription;
  const awaited = new Set([...state.awaitedEndpoints].filter((name) => !names.has(name)));
  return [{ ...changed, awaitedEndpoints: awaited }, effects];
}

function expire(state: StreamState, typeUrl: string, known: TypeState, nonce: string): Step {
  const effects: readonly Effect[] = [{ type: "expired", typeUrl, nonce }];
  const { answered, outstanding } = answer(known, nonce);
  return [answered === undefined ? state : withType(state, typeUrl, { ...known, outstanding }), effects];
}

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
  const [bound] = step(changed, { type: "stale", typeUrl: types.endpoint });
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

function merge(before: Due | undefined, more: Due): Due {
  if (before === undefined) return more;
  return {
    asked: before.asked === "all" || more.asked === "all" ? "all" : new Set([...before.asked, ...more.asked]),
    dropped: new Set([...before.dropped, ...more.dropped]),
    mustAnswer: before.mustAnswer || more.mustAnswer,
  };
}

function withType(state: StreamState, typeUrl: string, next: TypeState): StreamState {
  return { ...state, types: new Map(state.types).set(typeUrl, next) };
}

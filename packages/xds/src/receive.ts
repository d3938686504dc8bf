/** Requests of either form: what they want of a type, and what they say of the messages before. */
import { acknowledge, expire, reject } from "./answers.ts";
import { type ClientRequest, type DeltaRequest, isDelta, type SotwRequest } from "./request.ts";
import type { Claim, Rejection, Step, StreamState, TypeState } from "./stream-types.ts";
import {
  deltaSubscription,
  type Subscription,
  type SubscriptionChange,
  sameSubscription,
  sotwSubscription,
} from "./subscription.ts";
import { healthType, isDebugType, rulesOf } from "./type-rules.ts";
import { mergeDue, newType, nothing, withType } from "./type-state.ts";

export function receive(state: StreamState, request: ClientRequest): Step {
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

function receiveSotw(state: StreamState, request: SotwRequest): Step {
  const { typeUrl, nonce, version } = request;
  const known = state.types.get(typeUrl);
  const change = sotwSubscription(typeUrl, known?.subscription, request.names);
  if (change === undefined) return forget(state, typeUrl);
  const isRepeat =
    known !== undefined && nonce === "" && known.nonce === "" && (known.sent === undefined || version !== "");
  if (known === undefined || (nonce === "" && !isRepeat)) {
    // The first request of the type here: what the client has is as old as its version says, unless it gave up the type on this
    // stream: then it forgot all of it, but neither version nor nonce.
    const due = mergeDue(known?.due, { asked: "all", dropped: nothing, mustAnswer: true });
    const { next: subscription } = change;
    const claim = version === "" || state.givenUp.has(typeUrl) ? undefined : { version };
    const next = { ...(known ?? { ...newType, nonce }), subscription, due, claim };
    const givenUp = new Set([...state.givenUp].filter((other) => other !== typeUrl));
    return [withType({ ...state, givenUp }, typeUrl, next), [{ type: "due", typeUrl }]];
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
  const due = isAsking ? mergeDue(known.due, { asked, dropped, mustAnswer: false }) : known.due;
  if (subscription === known.subscription && due === known.due) return [state, []];
  const claim = subscription === known.subscription ? known.claim : claimWithin(known, next);
  const changed = withType(state, typeUrl, { ...known, subscription, due, claim });
  return [changed, isAsking ? [{ type: "due", typeUrl }] : []];
}

/** Names given up before the claim was looked at: the client has forgotten what it claimed of them. */
function claimWithin({ claim, subscription }: TypeState, next: Subscription): Claim | undefined {
  const gone = [...subscription.names].filter((name) => !next.names.has(name));
  if (claim === undefined || gone.length === 0) return claim;
  if ("version" in claim) return undefined;
  return { held: new Map([...claim.held].filter(([name]) => !gone.includes(name))) };
}

function forget(state: StreamState, typeUrl: string): Step {
  const given = state.givenUp.has(typeUrl) ? state : { ...state, givenUp: new Set([...state.givenUp, typeUrl]) };
  if (!state.types.has(typeUrl)) return [given, []];
  const remaining = new Map(state.types);
  remaining.delete(typeUrl);
  return [{ ...given, types: remaining }, [{ type: "forgotten", typeUrl }]];
}

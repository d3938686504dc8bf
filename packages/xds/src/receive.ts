/** Requests of either form: their subscriptions of a type, and their answers to the messages before. */

import { isDebugType, typeUrl as types } from "@flotilla/proto";
import type { MessageBody } from "./message-body.ts";
import { mentions } from "./plan.ts";
import { type ClientRequest, type DeltaRequest, isDelta, type SotwRequest } from "./request.ts";
import { rulesOf } from "./resource-set.ts";
import {
  type Claim,
  type Effect,
  mergeDue,
  newType,
  nothing,
  type Outstanding,
  type Rejection,
  type Step,
  type StreamState,
  type Subscription,
  type TypeState,
  withType,
} from "./stream-types.ts";
import { deltaSubscription, type SubscriptionChange, sameSubscription, sotwSubscription } from "./subscription.ts";

export function receive(state: StreamState, request: ClientRequest): Step {
  const { typeUrl, nonce, error } = request;
  // Requests only; never answered, never remembered.
  if (typeUrl === types.healthInformation) {
    return [state, [{ type: "health", healthy: error === undefined, message: error?.message ?? "" }]];
  }
  if (isDebugType(typeUrl)) {
    // Failed debug requests are answered with an error text, which such a client does not refuse.
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
  const isInFlight = known !== undefined && nonce === "" && addsNames(known, change, typeUrl);
  if (known === undefined || (nonce === "" && !isRepeat && !isInFlight)) {
    // The first request of the type here: the client's state is as old as its version indicates, unless it gave up the type on this stream:
    // then it forgot all of it, but neither version nor nonce.
    const due = mergeDue(known?.due, { asked: "all", dropped: nothing, mustAnswer: true });
    const { next: subscription } = change;
    const claim = version === "" || state.givenUp.has(typeUrl) ? undefined : { version };
    const next = { ...(known ?? { ...newType, nonce }), subscription, due, claim };
    const givenUp = new Set([...state.givenUp].filter((other) => other !== typeUrl));
    return [withType({ ...state, givenUp }, typeUrl, next), [{ type: "due", typeUrl }]];
  }
  if (nonce !== known.nonce && !isInFlight) return passOver(state, request, known);
  const [accepted, effects] = isRepeat || isInFlight ? [state, []] : acknowledge(state, typeUrl, known);
  const [next, more] = subscribe(remembered(accepted, typeUrl), typeUrl, withForgotten(change, typeUrl, known));
  return [next, [...effects, ...more]];
}

/**
 * Envoy subscribes to each certificate of a listener by a request with all names so far, hundreds of them before it reads the first
 * answer. Those that come after that answer was sent add names to it; answered in full, they would get each certificate hundreds of times.
 */
function addsNames(
  { outstanding, subscription }: TypeState,
  { next, asked }: SubscriptionChange,
  typeUrl: string,
): boolean {
  if (outstanding.length === 0 || asked === "all" || asked.size === 0 || rulesOf(typeUrl).complete) return false;
  return subscription.names.size + asked.size === next.names.size;
}

/** The client had not seen the last message yet, and will repeat its subscription when it has. */
function passOver(state: StreamState, { typeUrl, nonce, names }: SotwRequest, known: TypeState): Step {
  const [expired, effects] = expire(state, typeUrl, known, nonce);
  const asked = new Set(names);
  const missing = [...known.subscription.names].filter((name) => !asked.has(name));
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
  // Envoy may add names to an acknowledgement; in this form they are sent only once.
  const [next, more] = changeDelta(accepted, request);
  return [next, [...effects, ...more]];
}

function firstDelta(state: StreamState, request: DeltaRequest): Step {
  const { typeUrl, subscribe: asking, unsubscribe, held } = request;
  const change = deltaSubscription(typeUrl, undefined, { subscribe: asking, unsubscribe, held: held.keys() });
  const { next: subscription, asked, dropped } = change;
  const claim = held.size === 0 ? undefined : { held };
  // A client without resources waits for a first answer, be it an empty one.
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
  if (claim === undefined) return undefined;
  const gone = [...subscription.names].filter((name) => !next.names.has(name));
  if (gone.length === 0) return claim;
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

function acknowledge(state: StreamState, typeUrl: string, known: TypeState): Step {
  // A refused message stays refused, though later requests carry its nonce again, without the error.
  if (known.outstanding.length === 0) return [state, []];
  const next = { ...known, rejection: withheldRejection(known), outstanding: [] };
  const effects: readonly Effect[] = [{ type: "acknowledged", typeUrl, nonce: known.nonce }];
  const changed = withType(state, typeUrl, next);
  if (typeUrl !== types.endpoint || state.awaitedEndpoints.size === 0) return [changed, effects];
  const { names } = known.subscription;
  const awaited = new Set([...state.awaitedEndpoints].filter((name) => !names.has(name)));
  return [{ ...changed, awaitedEndpoints: awaited }, effects];
}

/** A message without the resources rejected by name does not clear their rejection: they stay withheld until they change. */
function withheldRejection({ rejection, suspects }: TypeState): Rejection | undefined {
  if (rejection === undefined || suspects.size === 0) return undefined;
  return [...suspects.keys()].some((name) => mentions(rejection.message, name)) ? rejection : undefined;
}

function expire(state: StreamState, typeUrl: string, known: TypeState, nonce: string): Step {
  const effects: readonly Effect[] = [{ type: "expired", typeUrl, nonce }];
  const { answered, outstanding } = answer(known, nonce);
  return [answered === undefined ? state : withType(state, typeUrl, { ...known, outstanding }), effects];
}

function reject(state: StreamState, typeUrl: string, rejection: Rejection): Step {
  const known = state.types.get(typeUrl);
  if (known === undefined) return [state, [{ type: "rejected", typeUrl, rejection, isRepeat: true }]];
  const { answered, outstanding } = answer(known, rejection.nonce);
  const isRepeat = answered === undefined && known.rejection !== undefined;
  const effects: readonly Effect[] = [{ type: "rejected", typeUrl, rejection, isRepeat }];
  const suspects = answered === undefined ? known.suspects : new Map([...known.suspects, ...contentsOf(answered.body)]);
  return [withType(state, typeUrl, { ...known, rejection, suspects, outstanding }), effects];
}

function contentsOf({ resources, removed }: MessageBody): readonly (readonly [string, string])[] {
  return [
    ...removed.map((name) => [name, ""] as const),
    ...resources.map(({ name, version }) => [name, version] as const),
  ];
}

/** A client answers in order: messages before the answered one are answered too. */
function answer(
  { outstanding }: TypeState,
  nonce: string,
): { readonly answered: Outstanding | undefined; readonly outstanding: readonly Outstanding[] } {
  const index = outstanding.findIndex((message) => message.nonce === nonce);
  return { answered: outstanding[index], outstanding: index === -1 ? outstanding : outstanding.slice(index + 1) };
}

export interface RequestLimits {
  /** Types with a subscription on one stream. */
  readonly maxTypes: number;
  /** Names subscribed to on one stream, of all types together. */
  readonly maxNames: number;
}

/** Why a request is over the bounds; undefined for one that is within. A bound holds for what the stream would hold at most after it. */
export function overLimit(state: StreamState, request: ClientRequest, limits: RequestLimits): string | undefined {
  const isNewType = !state.types.has(request.typeUrl);
  if (isNewType && state.types.size >= limits.maxTypes) return `more than ${limits.maxTypes} types on one stream`;
  const asked = isDelta(request) ? request.subscribe.length + request.held.size : request.names.length;
  // Most requests acknowledge and name nothing, or as much as before: the other types need not be looked at.
  if (asked === 0) return undefined;
  let names = asked;
  for (const [typeUrl, { subscription }] of state.types)
    if (typeUrl !== request.typeUrl || isDelta(request)) names += subscription.names.size;
  return names > limits.maxNames ? `more than ${limits.maxNames} resource names on one stream` : undefined;
}

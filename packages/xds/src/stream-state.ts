/**
 * One stream of either form as a state machine: `step(state, event) → [state, effects]`, without a socket, a clock or a resource in
 * sight. A request changes what is wanted and may make a type due; a due type is answered when the writer gets to it (plan.ts), so that
 * pushes and answers merge while it waits.
 * The next message of a stream, and whether something has to wait for the client. Answers go at once; pushes go make before break:
 * clusters and their endpoints are accepted before the listeners and routes that use them change, and unused resources are
 * removed after those were accepted. No wait is longer than a limit.
 */
import { typeUrl as types } from "@flotilla/proto";
import { isEdsCluster } from "./eds-cluster.ts";
import type { Bodies, MessageBody } from "./message-body.ts";
import { effectiveSet, type Form, plan } from "./plan.ts";
import { receive } from "./receive.ts";
import { type ResourceSet, rulesOf } from "./resource-set.ts";
import {
  isAnswer,
  markStale,
  type NameSet,
  noNames,
  nothing,
  push,
  type Step,
  type StreamEvent,
  type StreamState,
  type Subscription,
  type TypeState,
  withType,
} from "./stream-types.ts";
import { isSubscribed } from "./subscription.ts";

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

export interface TurnOptions {
  readonly form: Form;
  /** The present resources; undefined when the type is not served to this client. */
  readonly setOf: (typeUrl: string, subscription: Subscription) => ResourceSet | undefined;
  readonly bodies: Bodies;
  readonly nowMs: number;
  /** A client that does not answer, or does not ask for what it needs, holds back its own routes no longer than this. */
  readonly orderWaitMs: number;
  /** Endpoints were lost: a push of endpoints overtakes one of clusters. */
  readonly endpointsFirst?: boolean;
}

export interface Turn {
  readonly state: StreamState;
  /** To be encoded, written and confirmed by a `sent` event. */
  readonly message?: TurnMessage;
  /** When something that waits for the client goes without it. */
  readonly retryAtMs?: number;
}

export interface TurnMessage {
  readonly typeUrl: string;
  readonly set: ResourceSet;
  readonly body: MessageBody;
  readonly version: string;
  readonly again: boolean;
}

export function takeTurn(before: StreamState, options: TurnOptions): Turn {
  const { nowMs, orderWaitMs } = options;
  const isPatient = before.waitingSinceMs === undefined || nowMs < before.waitingSinceMs + orderWaitMs;
  let state = before;
  for (;;) {
    let waiting = false;
    let settled = false;
    for (const typeUrl of inTurn(state, options.endpointsFirst === true)) {
      const outcome = look(state, typeUrl, isPatient, options);
      if (outcome === "wait") waiting = true;
      else if ("typeUrl" in outcome) return { state, message: outcome };
      else {
        state = outcome;
        settled = true;
      }
    }
    if (!waiting) return { state: withWait(state, undefined) };
    if (settled) continue; // what waits may have waited for that
    const since = state.waitingSinceMs ?? nowMs;
    return { state: withWait(state, since), retryAtMs: since + orderWaitMs };
  }
}

/** A message, a state in which the type is no longer due, or that it has to wait. */
function look(
  state: StreamState,
  typeUrl: string,
  isPatient: boolean,
  { form, setOf, bodies }: TurnOptions,
): TurnMessage | StreamState | "wait" {
  const known = state.types.get(typeUrl);
  if (known?.due === undefined) return state;
  const found = setOf(typeUrl, known.subscription);
  if (found === undefined) return step(state, { type: "unserved", typeUrl })[0];
  const set = effectiveSet(state, found, bodies);
  const planned = plan(form, known, set, bodies);
  if (planned === undefined) return step(state, { type: "settled", typeUrl, set })[0];
  const message = { typeUrl, set, ...planned, again: false };
  if (!isPatient) return message;
  const isPush = !isAnswer(known.due);
  if (isPush && usesClusters(typeUrl) && clustersAreUnderWay(state)) return "wait";
  if (known.sent === undefined || !removalsMustWait(state, typeUrl)) return message;
  const { changed, removed } = bodies.diff(known.sent, set);
  if (!removed.some((name) => isSubscribed(known.subscription, name))) return message;
  if (isPush && changed.length === 0) return "wait";
  const kept = bodies.withoutRemovals(known.sent, set);
  const first = plan(form, known, kept, bodies);
  return first === undefined ? "wait" : { typeUrl, set: kept, ...first, again: true };
}

function usesClusters(typeUrl: string): boolean {
  return typeUrl === types.listener || typeUrl === types.route || typeUrl === types.scopedRoute;
}

function clustersAreUnderWay({ types: known, awaitedEndpoints }: StreamState): boolean {
  const isOut = (typeUrl: string) => (known.get(typeUrl)?.outstanding.length ?? 0) > 0;
  return isOut(types.cluster) || isOut(types.endpoint) || awaitedEndpoints.size > 0;
}

function removalsMustWait({ types: known }: StreamState, typeUrl: string): boolean {
  const isUnsettled = (type: TypeState | undefined) =>
    type !== undefined && (type.due !== undefined || type.outstanding.length > 0);
  const routes = [types.listener, types.route, types.scopedRoute].some((type) => isUnsettled(known.get(type)));
  if (typeUrl === types.cluster) return routes;
  // A filter without its configuration would fail requests of the listener that still has it.
  if (typeUrl === types.extensionConfig) return isUnsettled(known.get(types.listener));
  // Endpoints go with their cluster: while it is in use they stay.
  return typeUrl === types.endpoint && (routes || isUnsettled(known.get(types.cluster)));
}

/** Endpoints are bound to the clusters that the client has, so they may go before newer ones; answers keep their place. */
function inTurn(state: StreamState, endpointsFirst: boolean): readonly string[] {
  const due = inSendOrder(dueTypes(state));
  const endpoints = state.types.get(types.endpoint)?.due;
  if (!endpointsFirst || endpoints === undefined || isAnswer(endpoints)) return due;
  return [types.endpoint, ...due.filter((typeUrl) => typeUrl !== types.endpoint)];
}

function dueTypes({ types: known }: StreamState): readonly string[] {
  const due: string[] = [];
  for (const [typeUrl, { due: reason }] of known) if (reason !== undefined) due.push(typeUrl);
  return due;
}

function withWait(state: StreamState, waitingSinceMs: number | undefined): StreamState {
  return state.waitingSinceMs === waitingSinceMs ? state : { ...state, waitingSinceMs };
}

/** Due types in the order in which they are sent. */
function inSendOrder(urls: Iterable<string>): readonly string[] {
  return [...urls].sort((a, b) => rulesOf(a).order - rulesOf(b).order || (a < b ? -1 : a > b ? 1 : 0));
}

/**
 * Streams that stand at the same state and meet the same event go on to the same state: it is computed for the first of them
 * and shared by the others, object and all. Thousands of streams with equal views then cost a look-up each, in time and memory.
 */

import type { Form } from "./plan.ts";
import { type ClientRequest, isDelta } from "./request.ts";
import type { ResourceSet } from "./resource-set.ts";
import { step, type Turn, type TurnOptions, takeTurn, withInternedNames } from "./stream-state.ts";
import type { NameSet, Step, StreamEvent, StreamState, Subscription, TypeState } from "./stream-types.ts";

interface TakenStep {
  readonly event: StreamEvent;
  readonly result: Step;
}

interface TakenTurn {
  readonly form: Form;
  readonly endpointsFirst: boolean;
  /** Inputs that were read, in order: with the same answers the turn is the same. */
  readonly looks: readonly Look[];
  readonly turn: Turn;
}

interface Look {
  readonly typeUrl: string;
  readonly subscription: Subscription;
  readonly set: ResourceSet | undefined;
}

/** States that streams pass through while something spreads; forgetting them only costs computing them again. */
const maxStates = 512;
/** Names in the requests that led on from them: one with thousands of certificates has thousands, and a request for each. */
const maxRememberedNames = 32_768;

export class SharedStates {
  readonly #names: Interner<NameSet>;
  readonly #resting: Interner<StreamState>;
  readonly #steps = new Map<StreamState, TakenStep>();
  readonly #turns = new Map<StreamState, TakenTurn>();
  #rememberedNames = 0;

  /** `digest`: of the names of a set, which thousands of certificates make long; collisions must not be found. */
  constructor(digest?: (text: string) => string) {
    this.#names = new Interner(digest);
    this.#resting = new Interner(digest);
  }

  step(state: StreamState, event: StreamEvent): Step {
    const taken = this.#steps.get(state);
    if (taken !== undefined && sameEvent(taken.event, event)) return taken.result;
    const [next, effects] = step(state, event);
    const result: Step = [this.#canonical(event.type === "request" ? this.#atRest(next, event) : next), effects];
    this.#rememberStep(state, { event, result });
    return result;
  }

  takeTurn(state: StreamState, options: TurnOptions): Turn {
    const { form, endpointsFirst = false, setOf } = options;
    const taken = this.#turns.get(state);
    const isSame = taken?.form === form && taken.endpointsFirst === endpointsFirst;
    if (isSame && taken.looks.every((look) => setOf(look.typeUrl, look.subscription) === look.set)) return taken.turn;
    const looks: Look[] = [];
    const recorded = (typeUrl: string, subscription: Subscription): ResourceSet | undefined => {
      const set = setOf(typeUrl, subscription);
      looks.push({ typeUrl, subscription, set });
      return set;
    };
    const found = takeTurn(this.#withSharedNames(state), { ...options, setOf: recorded });
    const turn = { ...found, state: this.#canonical(found.state) };
    // One that waits for its client depends on the time as well.
    const isTimeless = state.waitingSinceMs === undefined && turn.retryAtMs === undefined;
    if (isTimeless) remember(this.#turns, state, { form, endpointsFirst, looks, turn });
    return turn;
  }

  /** Drops what is only kept in case another stream comes the same way. */
  sweep(): void {
    this.#steps.clear();
    this.#turns.clear();
    this.#rememberedNames = 0;
  }

  #rememberStep(state: StreamState, taken: TakenStep): void {
    this.#rememberedNames += namesIn(taken.event);
    if (this.#steps.size >= maxStates || this.#rememberedNames > maxRememberedNames) {
      this.#steps.clear();
      this.#rememberedNames = namesIn(taken.event);
    }
    this.#steps.set(state, taken);
  }

  /** Names of what is due are shared when it is its turn: more requests may bring more of them until then. */
  #atRest(state: StreamState, { request: { typeUrl } }: StreamEvent & { readonly type: "request" }): StreamState {
    return state.types.get(typeUrl)?.due === undefined ? this.#interned(state, typeUrl) : state;
  }

  #withSharedNames(state: StreamState): StreamState {
    let shared = state;
    for (const [typeUrl, { due }] of state.types) if (due !== undefined) shared = this.#interned(shared, typeUrl);
    return shared;
  }

  #interned(state: StreamState, typeUrl: string): StreamState {
    return withInternedNames(state, typeUrl, (names) => this.#names.intern(names.key, () => names));
  }

  /** Streams that came to the same by different ways go on together. */
  #canonical(state: StreamState): StreamState {
    const key = restKey(state);
    return key === undefined ? state : this.#resting.intern(key, () => state);
  }
}

function namesIn(event: StreamEvent): number {
  if (event.type !== "request") return 0;
  const { request } = event;
  return isDelta(request) ? request.subscribe.length + request.held.size : request.names.length;
}

function remember<Value>(taken: Map<StreamState, Value>, state: StreamState, value: Value): void {
  if (taken.size >= maxStates) taken.clear();
  taken.set(state, value);
}

/** Numbers objects, so that lists of them can be distinguished by a text. */
export class Identities {
  readonly #numbers = new WeakMap<object, number>();
  #last = 0;

  of(value: object): number {
    let number = this.#numbers.get(value);
    if (number === undefined) {
      number = ++this.#last;
      this.#numbers.set(value, number);
    }
    return number;
  }
}

/** Longer texts are kept as digests: a key stays for a while after its value. */
const longestKey = 256;

/** Gives back the first of equal values for as long as somebody holds it. */
export class Interner<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  readonly #digest: (text: string) => string;
  #sweepAt = 64;

  constructor(digest: (text: string) => string = (text) => text) {
    this.#digest = digest;
  }

  /** `make` is called when there is no value of this key. */
  intern(text: string, make: () => Value): Value {
    const key = text.length > longestKey ? this.#digest(text) : text;
    const known = this.#values.get(key)?.deref();
    if (known !== undefined) return known;
    const value = make();
    this.#values.set(key, new WeakRef(value));
    if (this.#values.size > this.#sweepAt) this.#sweep();
    return value;
  }

  #sweep(): void {
    for (const [key, reference] of this.#values) if (reference.deref() === undefined) this.#values.delete(key);
    this.#sweepAt = Math.max(64, this.#values.size * 2);
  }
}

/** Sets and interned names are compared by identity. */
const identities = new Identities();

/** Undefined while something is due, unanswered or refused. */
function restKey({ types, givenUp, awaitedEndpoints, waitingSinceMs }: StreamState): string | undefined {
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

function sameEvent(a: StreamEvent, b: StreamEvent): boolean {
  switch (a.type) {
    case "request":
      return b.type === "request" && sameRequest(a.request, b.request);
    case "stale":
    case "unserved":
      return b.type === a.type && b.typeUrl === a.typeUrl;
    case "settled":
      return b.type === "settled" && b.set === a.set && b.typeUrl === a.typeUrl;
    case "sent": {
      if (b.type !== "sent" || b.set !== a.set || b.body !== a.body) return false;
      return b.nonce === a.nonce && b.typeUrl === a.typeUrl && b.again === a.again;
    }
  }
}

function sameRequest(a: ClientRequest, b: ClientRequest): boolean {
  if (a === b) return true;
  if (a.typeUrl !== b.typeUrl || a.nonce !== b.nonce || a.error !== undefined || b.error !== undefined) return false;
  if (!isDelta(a)) return !isDelta(b) && a.version === b.version && sameTexts(a.names, b.names);
  if (!isDelta(b) || a.held.size > 0 || b.held.size > 0) return false;
  return sameTexts(a.subscribe, b.subscribe) && sameTexts(a.unsubscribe, b.unsubscribe);
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

/**
 * Streams that stand at the same state and meet the same event go on to the same state: it is computed for the first of them
 * and shared by the others, object and all. Thousands of streams with equal views then cost a look-up each, in time and memory.
 */
import { Interner } from "./interner.ts";
import type { NameSet } from "./name-set.ts";
import type { Form } from "./plan.ts";
import type { ResourceSet } from "./resource-set.ts";
import { restKey } from "./rest-key.ts";
import { sameEvent } from "./same-event.ts";
import { step, withInternedNames } from "./stream-state.ts";
import type { Step, StreamEvent, StreamState } from "./stream-types.ts";
import type { Subscription } from "./subscription.ts";
import { type Turn, type TurnOptions, takeTurn } from "./turn.ts";

interface TakenStep {
  readonly event: StreamEvent;
  readonly result: Step;
}

interface TakenTurn {
  readonly form: Form;
  readonly endpointsFirst: boolean;
  /** What was looked at, in order: with the same answers the turn is the same. */
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

export class SharedStates {
  readonly #names = new Interner<NameSet>();
  readonly #resting = new Interner<StreamState>();
  readonly #steps = new Map<StreamState, TakenStep>();
  readonly #turns = new Map<StreamState, TakenTurn>();

  step(state: StreamState, event: StreamEvent): Step {
    const taken = this.#steps.get(state);
    if (taken !== undefined && sameEvent(taken.event, event)) return taken.result;
    const [next, effects] = step(state, event);
    const result: Step = [this.#canonical(event.type === "request" ? this.#interned(next, event) : next), effects];
    remember(this.#steps, state, { event, result });
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
    const found = takeTurn(state, { ...options, setOf: recorded });
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
  }

  #interned(state: StreamState, { request: { typeUrl } }: StreamEvent & { readonly type: "request" }): StreamState {
    return withInternedNames(state, typeUrl, (names) => this.#names.intern(names.key, () => names));
  }

  /** Streams that came to the same by different ways go on together. */
  #canonical(state: StreamState): StreamState {
    const key = restKey(state);
    return key === undefined ? state : this.#resting.intern(key, () => state);
  }
}

function remember<Value>(taken: Map<StreamState, Value>, state: StreamState, value: Value): void {
  if (taken.size >= maxStates) taken.clear();
  taken.set(state, value);
}

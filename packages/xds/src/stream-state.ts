/**
 * One stream of either form as a state machine: `step(state, event) → [state, effects]`, without a
 * socket, a clock or a resource in sight. A request changes what is wanted and may make a type due; a due type
 * is answered when the writer gets to it (plan.ts), so that pushes and answers merge while it waits.
 */
import { afterSent } from "./after-sent.ts";
import type { NameSet } from "./name-set.ts";
import { receive } from "./receive.ts";
import type { Step, StreamEvent, StreamState } from "./stream-types.ts";
import { markStale, nothing, withType } from "./type-state.ts";

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

/** The part of a stream's state that one type has: made, replaced, and due. */
import { noNames } from "./name-set.ts";
import type { Due, Step, StreamState, TypeState } from "./stream-types.ts";

export const nothing: ReadonlySet<string> = new Set();
const noSuspects: ReadonlyMap<string, string> = new Map();
/** Something may have changed. */
export const push: Due = { asked: nothing, dropped: nothing, mustAnswer: false };

export const newType: TypeState = {
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

export function mergeDue(before: Due | undefined, more: Due): Due {
  if (before === undefined) return more;
  return {
    asked: before.asked === "all" || more.asked === "all" ? "all" : new Set([...before.asked, ...more.asked]),
    dropped: new Set([...before.dropped, ...more.dropped]),
    mustAnswer: before.mustAnswer || more.mustAnswer,
  };
}

export function withType(state: StreamState, typeUrl: string, next: TypeState): StreamState {
  return { ...state, types: new Map(state.types).set(typeUrl, next) };
}

/** The resources of the type may have changed. */
export function markStale(state: StreamState, typeUrl: string): Step {
  const known = state.types.get(typeUrl);
  if (known === undefined || known.due !== undefined) return [state, []];
  return [withType(state, typeUrl, { ...known, due: push }), [{ type: "due", typeUrl }]];
}

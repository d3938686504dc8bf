/** What a client says of messages it got: that it took one, refused one, or had not seen the last yet. */
import { typeUrl as types } from "@flotilla/proto";
import type { MessageBody } from "./message-body.ts";
import type { Effect, Outstanding, Rejection, Step, StreamState, TypeState } from "./stream-types.ts";
import { withType } from "./type-state.ts";

export function acknowledge(state: StreamState, typeUrl: string, known: TypeState): Step {
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

export function expire(state: StreamState, typeUrl: string, known: TypeState, nonce: string): Step {
  const effects: readonly Effect[] = [{ type: "expired", typeUrl, nonce }];
  const { answered, outstanding } = answer(known, nonce);
  return [answered === undefined ? state : withType(state, typeUrl, { ...known, outstanding }), effects];
}

export function reject(state: StreamState, typeUrl: string, rejection: Rejection): Step {
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

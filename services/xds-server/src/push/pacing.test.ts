import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { newStream, type StreamState, type TypeState } from "@flotilla/xds";
import { Pacing } from "../push/push-queue.ts";

const push = { asked: new Set<string>(), dropped: new Set<string>(), mustAnswer: false };
const answer = { ...push, mustAnswer: true };
const body = { typeUrl: typeUrl.route, resources: [], removed: [] };
const unanswered = [{ nonce: "1", body }];

function stateOf(...types: readonly (readonly [string, Partial<TypeState>])[]): StreamState {
  return {
    ...newStream,
    types: new Map(types.map(([type, known]) => [type, { outstanding: [], ...known } as TypeState])),
  };
}

interface Case {
  readonly name: string;
  readonly state: StreamState;
  readonly nowMs?: number;
  readonly waitsUntil: number | undefined;
}

/** Routes were sent at 1,000 ms, and the wait is 500 ms. */
const cases: readonly Case[] = [
  {
    name: "a push of routes waits for the answer to those before",
    state: stateOf([typeUrl.route, { due: push, outstanding: unanswered }]),
    waitsUntil: 1_500,
  },
  {
    name: "what is answered holds nothing back",
    state: stateOf([typeUrl.route, { due: push }]),
    waitsUntil: undefined,
  },
  {
    name: "no answer holds back nothing for longer than the wait",
    state: stateOf([typeUrl.route, { due: push, outstanding: unanswered }]),
    nowMs: 1_500,
    waitsUntil: undefined,
  },
  {
    name: "a request is answered at once",
    state: stateOf([typeUrl.route, { due: answer, outstanding: unanswered }]),
    waitsUntil: undefined,
  },
  {
    name: "endpoints wait for nothing, and what is due beside them goes with them",
    state: stateOf(
      [typeUrl.route, { due: push, outstanding: unanswered }],
      [typeUrl.endpoint, { due: push, outstanding: unanswered }],
    ),
    waitsUntil: undefined,
  },
  {
    name: "listeners do not wait for the answer to routes",
    state: stateOf([typeUrl.route, { outstanding: unanswered }], [typeUrl.listener, { due: push }]),
    waitsUntil: undefined,
  },
  { name: "where nothing is due nothing waits", state: stateOf([typeUrl.route, {}]), waitsUntil: undefined },
];

describe("pacing", () => {
  for (const { name, state, nowMs = 1_100, waitsUntil } of cases) {
    it(name, () => {
      const pacing = new Pacing(500);
      pacing.sent(typeUrl.route, 1_000);
      pacing.sent(typeUrl.endpoint, 1_000);
      assert.equal(pacing.waitsUntil(state, nowMs), waitsUntil);
    });
  }
});

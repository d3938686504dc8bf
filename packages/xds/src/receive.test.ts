import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { overLimit } from "./receive.ts";
import type { DeltaRequest, SotwRequest } from "./request.ts";
import { newStream, step } from "./stream-state.ts";

const limits = { maxTypes: 2, maxNames: 3 };
const common = { nonce: "", error: undefined };
const delta = (typeUrl: string, ...subscribe: readonly string[]): DeltaRequest => {
  return { ...common, typeUrl, subscribe, unsubscribe: [], held: new Map() };
};
const sotw = (typeUrl: string, ...names: readonly string[]): SotwRequest => ({
  ...common,
  typeUrl,
  names,
  version: "",
});
const holding = (...requests: readonly (DeltaRequest | SotwRequest)[]) =>
  requests.reduce((state, request) => step(state, { type: "request", request })[0], newStream);

const cases: readonly {
  readonly name: string;
  readonly before: readonly (DeltaRequest | SotwRequest)[];
  readonly request: DeltaRequest | SotwRequest;
  readonly expected: RegExp | undefined;
}[] = [
  { name: "as many types as allowed", before: [delta("a", "x")], request: delta("b", "x"), expected: undefined },
  {
    name: "one type more",
    before: [delta("a", "x"), delta("b", "x")],
    request: delta("c", "x"),
    expected: /more than 2 types/,
  },
  { name: "as many names as allowed", before: [], request: delta("a", "x", "y", "z"), expected: undefined },
  { name: "one name more", before: [], request: sotw("a", "w", "x", "y", "z"), expected: /more than 3 resource names/ },
  {
    name: "names added to a type by delta",
    before: [delta("a", "w", "x")],
    request: delta("a", "y", "z"),
    expected: /more than 3 resource names/,
  },
  {
    name: "names replaced by state of the world",
    before: [sotw("a", "w", "x", "y")],
    request: sotw("a", "x", "y", "z"),
    expected: undefined,
  },
  {
    name: "names of two types together",
    before: [sotw("a", "w", "x")],
    request: sotw("b", "y", "z"),
    expected: /more than 3 resource names/,
  },
  {
    name: "names that a client says it has",
    before: [],
    request: { ...delta("a"), held: new Map(["w", "x", "y", "z"].map((name) => [name, { version: "1" }])) },
    expected: /more than 3 resource names/,
  },
  {
    name: "an acknowledgement of a full stream",
    before: [delta("a", "x", "y", "z")],
    request: { ...delta("a"), nonce: "1" },
    expected: undefined,
  },
];

describe("limits of a stream", () => {
  for (const { name, before, request, expected } of cases)
    it(`${expected === undefined ? "allow" : "refuse"} ${name}`, () => {
      const reason = overLimit(holding(...before), request, limits);
      if (expected === undefined) assert.equal(reason, undefined);
      else assert.match(reason ?? "", expected);
    });
});

/** Matchers of texts, headers and metadata, and what three-valued answers make of several of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { every, isDoubt, type Judgement, not, some } from "./judgement.ts";
import { describeText, matchesMetadata, matchesNamed, matchesText } from "./text-match.ts";

const shown = (judgement: Judgement) => (isDoubt(judgement) ? "open" : judgement);

describe("several answers", () => {
  const open = { doubt: "x" };
  const cases: readonly (readonly [name: string, got: Judgement, want: boolean | "open"])[] = [
    ["every: nothing is asked", every([]), true],
    ["every: one is false, whatever is open", every([open, false]), false],
    ["every: one is open", every([true, open]), "open"],
    ["some: nothing is offered", some([]), false],
    ["some: one is true, whatever is open", some([open, true]), true],
    ["some: one is open", some([false, open]), "open"],
    ["not: what is open stays open", not(open), "open"],
    ["not: the opposite", not(true), false],
  ];
  for (const [name, got, want] of cases) it(name, () => assert.equal(shown(got), want));
});

describe("texts", () => {
  const cases: readonly (readonly [matcher: JsonObject, text: string, want: boolean | "open", words: string])[] = [
    [{ exact: "a" }, "a", true, "is a"],
    [{ exact: "" }, "", true, "is "],
    [{ exact: "a" }, "A", false, "is a"],
    [{ exact: "a", ignoreCase: true }, "A", true, "is a"],
    [{ prefix: "/a" }, "/ab", true, "begins with /a"],
    [{ suffix: "b" }, "/ab", true, "ends with b"],
    [{ contains: "x" }, "/ab", false, "contains x"],
    [{ safeRegex: { regex: "a+" } }, "aaa", true, "matches a+"],
    [{ safeRegex: { regex: "a" } }, "aaa", false, "matches a"],
    [{ safeRegex: { regex: "(?=a)" } }, "a", "open", "matches (?=a)"],
    [{ custom: { name: "x" } }, "a", "open", "is "],
  ];
  for (const [matcher, text, want, words] of cases)
    it(`${JSON.stringify(matcher)} for ${JSON.stringify(text)}`, () => {
      assert.equal(shown(matchesText(matcher, text)), want);
      assert.equal(describeText(matcher), words);
    });

  it("matches in linear time what would take a backtracking engine years", () => {
    assert.equal(matchesText({ safeRegex: { regex: "(a|a)*b" } }, "a".repeat(5_000)), false);
  });
});

describe("headers and parameters", () => {
  const cases: readonly (readonly [name: string, matcher: JsonObject, value: string | undefined, want: boolean])[] = [
    ["presence", { name: "x" }, "1", true],
    ["absence", { name: "x", invertMatch: true }, undefined, true],
    ["presence that is not wanted", { name: "x", presentMatch: false }, "1", false],
    [
      "an absent value does not match the opposite",
      { stringMatch: { exact: "1" }, invertMatch: true },
      undefined,
      false,
    ],
    [
      "unless it counts as empty",
      { stringMatch: { exact: "1" }, invertMatch: true, treatMissingHeaderAsEmpty: true },
      undefined,
      true,
    ],
    ["another value matches the opposite", { stringMatch: { exact: "1" }, invertMatch: true }, "2", true],
    ["a range includes its start", { rangeMatch: { start: "1", end: "3" } }, "1", true],
    ["and not its end", { rangeMatch: { start: "1", end: "3" } }, "3", false],
    ["nor what is no number", { rangeMatch: { start: "1", end: "3" } }, "2x", false],
    ["the older form", { prefixMatch: "a" }, "ab", true],
  ];
  for (const [name, matcher, value, want] of cases) it(name, () => assert.equal(matchesNamed(matcher, value), want));
});

describe("metadata", () => {
  const tokens = "envoy.filters.http.jwt_authn";
  const known = new Map([[tokens, { payload: { iss: "me", groups: ["a", "b"], isAdmin: true } }]]);
  const at = (key: string, value: JsonObject, more: JsonObject = {}): JsonObject => ({
    ...{ filter: tokens, path: [{ key: "payload" }, { key }], value },
    ...more,
  });
  const text = (exact: string) => ({ stringMatch: { exact } });
  const cases: readonly (readonly [name: string, matcher: JsonObject, want: boolean | "open"])[] = [
    ["a text", at("iss", text("me")), true],
    ["the opposite", at("iss", text("me"), { invert: true }), false],
    ["one of a list", at("groups", { listMatch: { oneOf: text("b") } }), true],
    ["a list is no text", at("groups", text("b")), false],
    [
      "either form",
      at("groups", { orMatch: { valueMatchers: [text("b"), { listMatch: { oneOf: text("b") } }] } }),
      true,
    ],
    ["what is not there", at("sub", text("me")), false],
    ["presence", at("iss", { presentMatch: true }), true],
    ["truth", at("isAdmin", { boolMatch: true }), true],
    ["a form that is not evaluated", at("iss", { doubleMatch: { exact: 1 } }), "open"],
    ["what other filters write", { filter: "envoy.filters.http.ext_authz", path: [], value: text("x") }, "open"],
  ];
  for (const [name, matcher, want] of cases) it(name, () => assert.equal(shown(matchesMetadata(matcher, known)), want));
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isClaim } from "./string-match.ts";

const cases: readonly (readonly [name: string, expected: boolean])[] = [
  ["@request.auth.claims.group", true],
  ["@Request.Auth.Claims[group]", true],
  ["@request.auth.claims[group][sub]", true],
  ["@request.auth.claims[a[b]", true],
  ["@request.auth.claims", false],
  ["@request.auth.claims.", false],
  ["@request.auth.claims[]", false],
  ["@request.auth.claims[group", false],
  ["@request.auth.claims[group]x", false],
  ["@request.auth.claims[group].x[y]", true],
  ["x-claims[group]", false],
  // An expression that looks for the end of each bracket takes seconds for this one.
  [`@request.auth.claims${"[".repeat(100_000)}`, false],
];

describe("claims in matches", () => {
  for (const [name, expected] of cases)
    it(`${name.slice(0, 40)} is ${expected ? "one" : "none"}`, () => {
      assert.equal(isClaim(name), expected);
    });
});

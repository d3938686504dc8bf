import assert from "node:assert/strict";
import { it } from "node:test";
import { reasonAgainst } from "./regular-expressions.ts";

const cases = [
  { source: "^(a+)+$", flags: "", reason: /exponential/ },
  { source: "\\/+$", flags: "", reason: /2nd degree polynomial/ },
  { source: "^[a-z]+$", flags: "i", reason: undefined },
] as const;

for (const { source, flags, reason } of cases)
  it(`an expression that is linear is taken, another refused: /${source}/`, async () => {
    const found = await reasonAgainst({ source, flags });
    if (reason === undefined) assert.equal(found, undefined);
    else assert.match(found ?? "", reason);
  });

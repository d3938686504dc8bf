import assert from "node:assert/strict";
import { it } from "node:test";
import { answerHolder } from "./mcp-client.ts";

it("the same refusal waits longer each time, another or an acknowledgement does not", () => {
  const hold = answerHolder();
  const answer = (message?: string) => ({
    ...{ typeUrl: "a/v1/B", nonce: "1", names: [], version: "" },
    error: message === undefined ? undefined : { code: 13, message },
  });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => hold(answer("x is wrong"))),
    [0, 1_000, 2_000, 4_000],
  );
  assert.equal(hold({ ...answer("x is wrong"), typeUrl: "a/v1/C" }), 0);
  assert.equal(hold(answer("y is wrong")), 0);
  assert.equal(hold(answer()), 0);
  assert.equal(hold(answer("y is wrong")), 0);
  const waits = Array.from({ length: 12 }, () => hold(answer("y is wrong")));
  assert.equal(waits.at(-1), 60_000);
});

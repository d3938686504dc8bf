/** Profiles of this process. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Profiles } from "./profiles.ts";

const running = new AbortController().signal;

describe("a profile of the process", () => {
  for (const [kind, fields] of [
    ["cpu", ["nodes", "startTime", "endTime", "samples", "timeDeltas"]],
    ["heap", ["head", "samples"]],
  ] as const)
    it(`of its ${kind} has the form of V8`, async () => {
      const profile = JSON.parse((await new Profiles().take(kind, 0, running)) ?? "") as object;
      assert.deepEqual(
        fields.filter((field) => !(field in profile)),
        [],
      );
    });

  it("is taken one at a time, until it is stopped", async () => {
    const profiles = new Profiles();
    const stop = new AbortController();
    const first = profiles.take("cpu", 3_600, stop.signal);
    assert.equal(await profiles.take("heap", 0, running), undefined);
    stop.abort();
    assert.notEqual(await first, undefined);
    assert.notEqual(await profiles.take("heap", 0, running), undefined);
  });
});

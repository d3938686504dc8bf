/** Work that is repeated until its server answers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLogger } from "@flotilla/runtime";
import { retryUntilAborted } from "./nats-connection.ts";

function retrying() {
  const lines: { readonly msg: string; readonly reason: string }[] = [];
  const log = createLogger("bus", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  let away = 0;
  const onAway = () => void away++;
  return { lines, away: () => away, options: { what: "nats", log, onAway } };
}

describe("an attempt that is repeated", () => {
  it("gives what the first one gives that succeeds, and reports the failure once", async () => {
    const { lines, away, options } = retrying();
    let attempts = 0;
    const attempt = async () => {
      attempts++;
      if (attempts < 4) throw new Error(`refused ${attempts}`);
      return "connected";
    };
    assert.equal(await retryUntilAborted(attempt, options, new AbortController().signal), "connected");
    assert.deepEqual([attempts, away()], [4, 1]);
    assert.deepEqual(
      lines.map(({ msg, reason }) => [msg, reason]),
      [["nats unreachable, waiting for it", "refused 1"]],
    );
  });

  it("reports nothing where the first one succeeds", async () => {
    const { lines, away, options } = retrying();
    await retryUntilAborted(async () => undefined, options, new AbortController().signal);
    assert.deepEqual([lines, away()], [[], 0]);
  });

  it("ends with the reason of the stop, before and between attempts", async () => {
    const { options } = retrying();
    const never = () => assert.fail("it was stopped before");
    await assert.rejects(retryUntilAborted(never, options, AbortSignal.abort(new Error("stopped"))), /stopped/);
    const stop = new AbortController();
    const attempt = () => {
      stop.abort(new Error("stopped meanwhile"));
      return Promise.reject(new Error("refused"));
    };
    await assert.rejects(retryUntilAborted(attempt, options, stop.signal), /stopped meanwhile/);
  });
});

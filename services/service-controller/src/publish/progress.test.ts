/** The progress of the service registry as config-controller reads it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Bus } from "@flotilla/bus";
import { decodeProgress, progressBucket, progressKey, type ServiceProgress } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { Progress } from "./progress.ts";

it("is published when more has been read, again after a failure, and not for what is published alone", async () => {
  const written: ServiceProgress[] = [];
  let attempts = 0;
  const values = {
    put: async (key: string, value: Uint8Array) => {
      assert.equal(key, progressKey);
      if (attempts++ === 1) throw new Error("away");
      written.push(decodeProgress(value));
    },
  };
  const bus = {
    epoch: "e",
    state: { connected: true },
    onEpoch: () => () => undefined,
    onState: () => () => undefined,
    keyValue: async (name: string) => {
      assert.equal(name, progressBucket);
      return values;
    },
  };
  const publisher = { lastSequence: 3 };
  const stop = new AbortController();
  const progress = new Progress();
  const reporting = progress.report({ bus: bus as unknown as Bus, publisher, log: noopLogger }, stop.signal);
  const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 5 });
  await until(() => written.length === 1, soon("the first progress"));
  publisher.lastSequence = 4;
  progress.note(7);
  progress.note(6);
  await until(() => written.length === 2, soon("the progress after a failure"));
  stop.abort();
  await reporting;
  assert.equal(attempts, 3);
  assert.deepEqual(written, [
    { epoch: "e", read: 0, published: 3 },
    { epoch: "e", read: 7, published: 4 },
  ]);
});

/** Events of a stream reach every observer that handles them, in order. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { joinObservers } from "./observers.ts";
import type { StreamObserver, StreamRecord } from "./stream-record.ts";

const stream = { id: "1" } as StreamRecord;

function observer(name: string, calls: string[]): StreamObserver {
  const note =
    (event: string) =>
    (of: StreamRecord, ...values: readonly unknown[]) =>
      void calls.push(`${name} ${event} ${of.id} ${values.join(" ")}`.trimEnd());
  return {
    opened: note("opened"),
    closed: note("closed"),
    sent: note("sent"),
    acknowledged: note("acknowledged"),
    rejected: note("rejected"),
    health: note("health"),
  };
}

const receipt = {
  ...{ nonce: "n", version: "v", atMs: 0, position: 0, applied: undefined, resources: 0, bytes: 0 },
  toString: () => "receipt",
};
const rejection = { message: "no", toString: () => "rejection" } as unknown as Parameters<
  NonNullable<StreamObserver["rejected"]>
>[2];

const cases: readonly { readonly event: string; readonly call: (all: StreamObserver) => void }[] = [
  { event: "opened 1", call: (all) => all.opened?.(stream) },
  { event: "closed 1 ended", call: (all) => all.closed?.(stream, "ended") },
  { event: "sent 1 cds receipt", call: (all) => all.sent?.(stream, "cds", receipt, undefined) },
  { event: "acknowledged 1 cds receipt", call: (all) => all.acknowledged?.(stream, "cds", receipt) },
  { event: "rejected 1 cds rejection a,b", call: (all) => all.rejected?.(stream, "cds", rejection, ["a", "b"]) },
  { event: "health 1 false port closed", call: (all) => all.health?.(stream, false, "port closed") },
];

describe("several observers", () => {
  for (const { event, call } of cases)
    it(`are called in order: ${event}`, () => {
      const calls: string[] = [];
      call(joinObservers(observer("first", calls), {}, observer("second", calls)));
      assert.deepEqual(calls, [`first ${event}`, `second ${event}`]);
    });
});

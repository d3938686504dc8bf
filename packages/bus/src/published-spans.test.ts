/** The first span of a change. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Cause, causeId } from "@flotilla/model";
import type { Tracer } from "@flotilla/runtime";
import { recordPublished } from "./published-spans.ts";

const changes = [
  { type: "config", op: "put" },
  { type: "config", op: "delete" },
] as const;

describe("a change that was published", () => {
  for (const [name, eventTimeMs, source] of [
    ["from the event of its source", 1_000, "a file"],
    ["whose event is of a clock ahead of this one", Number.MAX_SAFE_INTEGER, undefined],
  ] as const)
    it(`has a span ${name}, and is reported on`, () => {
      const cause = {
        ...({ publisher: "p", epoch: "e", revision: 1 } as unknown as Cause),
        eventTimeMs,
        source,
      } as Cause;
      const spans: Parameters<Tracer["record"]>[0][] = [];
      const reported: unknown[] = [];
      recordPublished({ record: (span) => void spans.push(span) }, (...given) => void reported.push(given))(
        changes,
        cause,
      );
      assert.deepEqual(reported, [[changes, cause]]);
      const [{ startMs, endMs, ...span } = assert.fail()] = spans;
      assert.deepEqual(span, {
        ...{ trace: causeId(cause), name: "publish", isRoot: true },
        attributes: { "flotilla.change": causeId(cause), "flotilla.changes": 2, "flotilla.source": source ?? "" },
      });
      assert.equal(startMs, Math.min(eventTimeMs, endMs));
      assert.ok(Math.abs(endMs - Date.now()) < 60_000);
    });

  it("is reported on alone where there is no tracer", () => {
    const then = () => undefined;
    assert.equal(recordPublished(undefined, then), then);
  });
});

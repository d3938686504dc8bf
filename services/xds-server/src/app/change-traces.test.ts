/** Spans of a batch of changes: how long it waited, how long it was applied, and until when it was delivered. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Cause, causeId } from "@flotilla/model";
import { traceBatch } from "./change-traces.ts";

const cause = (eventTimeMs: number): Cause => ({ eventTimeMs, source: "test" }) as unknown as Cause;

function spansOf(causes: readonly Cause[], deliveredMs: number) {
  const spans: { readonly name: string; readonly startMs: number; readonly endMs: number; readonly trace: unknown }[] =
    [];
  const attributes: unknown[] = [];
  const tracer = {
    record: ({ trace, name, startMs, endMs, attributes: own }: (typeof spans)[number] & { attributes?: unknown }) => {
      spans.push({ name, startMs, endMs, trace });
      attributes.push(own);
    },
  };
  const batch = { groups: causes.map((one) => ({ cause: one })), waitedMs: 30 };
  const trace = traceBatch(tracer as never, batch, { objects: ["A/a/a", "B/b/b"] } as never);
  trace.applied(1_000, 1_010);
  trace.delivered(deliveredMs);
  return { spans, attributes };
}

describe("spans of a batch", () => {
  it("are those of its cause's trace, with the objects of the batch", () => {
    const { spans, attributes } = spansOf([cause(900)], 1_200);
    const trace = causeId(cause(900));
    assert.deepEqual(spans, [
      { name: "debounce", startMs: 970, endMs: 1_000, trace },
      { name: "apply", startMs: 1_000, endMs: 1_010, trace },
      { name: "deliver", startMs: 1_010, endMs: 1_200, trace },
    ]);
    assert.deepEqual(attributes[0], { "flotilla.objects": "A/a/a, B/b/b", "flotilla.groups": 1 });
  });
  it("have no delivery before their application", () => {
    assert.deepEqual(spansOf([cause(900)], 5).spans.at(-1)?.endMs, 1_010);
  });
  it("are recorded for causes whose time is known, at most 64", () => {
    assert.deepEqual(spansOf([cause(0)], 1_200).spans, []);
    const many = Array.from({ length: 100 }, (_, i) => cause(i));
    assert.equal(spansOf(many, 1_200).spans.filter(({ name }) => name === "apply").length, 64);
  });
});

/** Deletes that are purged from the stream: those of the publisher alone, when they have been kept long enough. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLogger } from "@flotilla/runtime";
import type { Bus, StoredMessage } from "./bus.ts";
import { forgetDeletes } from "./forget-deletes.ts";

function stored(sequence: number, storedAtMs: number, publisher = "own", operation = "delete"): StoredMessage {
  const headers = { "Flotilla-Publisher": publisher, "Flotilla-Op": operation };
  return { subject: "config.a", sequence, payload: new Uint8Array(), headers, storedAtMs };
}

function setUp(forget: (sequences: readonly number[]) => Promise<void>) {
  const lines: string[] = [];
  const log = createLogger("test", "info", { write: (line) => void lines.push(line) });
  const bus = { forget } as unknown as Bus;
  return { lines, options: { bus, publisher: "own", log, nowMs: () => 1_000, keepDeletesMs: 100 } };
}

describe("deletes", () => {
  it("are purged once they are older than they are kept, and nothing else is", async () => {
    const forgotten: (readonly number[])[] = [];
    const { options } = setUp(async (sequences) => void forgotten.push(sequences));
    await forgetDeletes(options, [
      stored(1, 899),
      stored(2, 900),
      stored(3, 1_000),
      stored(4, 0, "another"),
      stored(5, 0, "own", "put"),
      stored(6, 0),
    ]);
    assert.deepEqual(forgotten, [[1, 6]]);
  });
  it("stay where they cannot be purged, which is logged", async () => {
    const { options, lines } = setUp(() => Promise.reject(new Error("away")));
    await forgetDeletes(options, [stored(1, 0)]);
    assert.match(lines.join(""), /"level":"warn".*"count":1.*old deletes not purged, trying again later/);
  });
});

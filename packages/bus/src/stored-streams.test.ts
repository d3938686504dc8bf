import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { type StoredStream, storedStreams } from "./stored-streams.ts";

const page = readFileSync(new URL("../../../docs/architecture/stored-data.md", import.meta.url), "utf8");

describe("table of stored streams", () => {
  it("names each stream once", () => {
    const names = storedStreams.map(({ stream }) => stream);
    assert.deepEqual([...new Set(names)], names);
  });

  it("is what the page shows", () => {
    const row = ({ stream, writers, holds, kind, afterLoss }: StoredStream): string =>
      `| ${stream} | ${writers.join(", ")} | ${holds} | ${kind} | ${afterLoss} |`;
    const shown = page.split("\n").filter((line) => /^\| (FLOTILLA|KV_)/.test(line));
    assert.deepEqual(shown, storedStreams.map(row));
  });
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { boundsOf, configurersOf, type StoredStream, storedStreams } from "./stored-streams.ts";

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

describe("the bounds of a stream", () => {
  for (const { stream, kind } of storedStreams)
    it(`${stream}, a ${kind}`, () => {
      const { maxBytes, maxConsumers } = boundsOf(stream);
      const expected = { lease: 2 ** 20, report: 2 ** 26, truth: undefined, copy: undefined }[kind];
      assert.equal(maxBytes, expected);
      assert.equal(maxConsumers, stream.startsWith("KV_") ? 256 : 512);
    });
  it("of another name is the disk", () =>
    assert.deepEqual(boundsOf("OTHER"), { maxBytes: undefined, maxConsumers: 512 }));
});

it("settings of a bucket are changed by its readers, of a stream by its writers", () => {
  for (const one of storedStreams)
    assert.deepEqual(
      configurersOf(one),
      one.stream.startsWith("KV_") && one.readers !== undefined ? one.readers : one.writers,
    );
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Turns } from "./turns.ts";

describe("turns", () => {
  it("begins each piece of work when those before have ended, also badly", async () => {
    const turns = new Turns();
    const seen: string[] = [];
    const work = (name: string, failure?: Error) => async (): Promise<string> => {
      seen.push(`${name} begins`);
      await Promise.resolve();
      seen.push(`${name} ends`);
      if (failure !== undefined) throw failure;
      return name;
    };
    const results = await Promise.allSettled([
      turns.take(work("a")),
      turns.take(work("b", new Error("b failed"))),
      turns.take(work("c")),
    ]);
    assert.deepEqual(seen, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
  });
});

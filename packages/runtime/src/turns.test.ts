import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { TimeSlice, Turns } from "./turns.ts";

test("others have their turn when a slice is used up, and a slice begins anew", async () => {
  const timeSlice = new TimeSlice(2);
  let turns = 0;
  setImmediate(() => turns++);
  for (const end = performance.now() + 3; performance.now() < end; );
  assert.equal(timeSlice.isDue, true);
  assert.equal(turns, 0);
  await timeSlice.yield();
  assert.equal(turns, 1);
  assert.equal(new TimeSlice(60_000).isDue, false);
});

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
    assert.equal(turns.open, 0);
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

  it("count pieces that were asked for and have not ended, well or badly", async () => {
    const turns = new Turns();
    const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const asked = [turns.take(() => first.promise), turns.take(() => second.promise)];
    assert.equal(turns.open, 2);
    first.resolve("a");
    assert.equal(await asked[0], "a");
    assert.equal(turns.open, 1);
    second.reject(new Error("no"));
    await assert.rejects(asked[1] ?? assert.fail(), /no/);
    assert.equal(turns.open, 0);
  });
});

/** `/debug/arrivals`: generations asked for by number, known ones answered, anything else refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Arrival } from "../serve/arrivals.ts";
import { arrivalsPage } from "./arrivals-page.ts";

const arrival = (generation: number): Arrival => ({
  ...{ generation, together: 1, messages: 2, bytes: 30, rejections: 0, waiting: 0 },
  lastAckMs: 12,
});
const page = arrivalsPage({ of: (generation) => (generation <= 20 ? arrival(generation) : undefined) });

async function answer(generations: string | undefined) {
  const query = new URLSearchParams(generations === undefined ? {} : { generations });
  const reply = await page.answer({ path: "arrivals", query, viewer: { namespace: undefined } });
  assert.ok("json" in reply);
  return {
    status: reply.status,
    json: reply.json as { readonly arrivals?: readonly Arrival[]; readonly error?: string },
  };
}

describe("arrivals of generations", () => {
  const answered: readonly (readonly [name: string, generations: string, want: readonly number[]])[] = [
    ["one generation", "17", [17]],
    ["several, in the order of the question", "18,17", [18, 17]],
    ["generations before the first are left out", "17,99", [17]],
    ["a whole list of unknown ones is empty", "98,99", []],
    ["as many as the console lists", Array(200).fill("3").join(), Array(200).fill(3)],
  ];
  for (const [name, generations, want] of answered)
    it(name, async () => {
      const { status, json } = await answer(generations);
      assert.equal(status, undefined);
      assert.deepEqual(
        json.arrivals,
        want.map((generation) => arrival(generation)),
      );
    });

  const refused: readonly (readonly [name: string, generations: string | undefined])[] = [
    ["a question without numbers", undefined],
    ["an empty list", ""],
    ["a text", "last"],
    ["a negative number", "-1"],
    ["a number with a fraction", "1.5"],
    ["a number that is too long to be exact", "1234567890123456"],
    ["an empty place in the list", "17,,18"],
    ["more than the console lists", Array(201).fill("3").join()],
  ];
  for (const [name, generations] of refused)
    it(`${name} is refused`, async () => {
      const { status, json } = await answer(generations);
      assert.equal(status, 400);
      assert.match(json.error ?? "", /^generations must be 1 to 200 numbers/);
    });
});

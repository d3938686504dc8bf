/** One question again and again: which answers are news, and with which index the next one is asked. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { blockingQuery } from "./blocking-query.ts";
import type { ConsulAnswer } from "./consul-client.ts";

type Step = ConsulAnswer | undefined | Error;
const answer = (body: string, index: number): ConsulAnswer => ({ body, index });

async function askAll(steps: readonly Step[]) {
  const stop = new AbortController();
  const asked: number[] = [];
  const failures: unknown[] = [];
  const left = [...steps];
  const ask = async (index: number) => {
    asked.push(index);
    const next = left.shift();
    if (left.length === 0) stop.abort();
    if (next instanceof Error) throw next;
    return next;
  };
  const news: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  for await (const body of blockingQuery({ ask, onFailure, pauseMs: 1, random: () => 0 }, stop.signal)) news.push(body);
  return { asked, news, failures: failures.map(String) };
}

describe("a blocking query", () => {
  const away = new Error("away");
  const cases: readonly {
    readonly name: string;
    readonly steps: readonly Step[];
    readonly asked: readonly number[];
    readonly news: readonly string[];
  }[] = [
    {
      name: "goes on with the index of each answer",
      steps: [answer("a", 5), answer("b", 6)],
      asked: [0, 5],
      news: ["a", "b"],
    },
    {
      name: "takes the same index for no news",
      steps: [answer("a", 5), answer("a", 5), answer("b", 6)],
      asked: [0, 5, 5],
      news: ["a", "b"],
    },
    {
      name: "begins anew where the index goes backwards",
      steps: [answer("a", 5), answer("b", 3), answer("c", 3)],
      asked: [0, 5, 0],
      news: ["a", "b", "c"],
    },
    { name: "takes an index below 1 for 1", steps: [answer("a", 0), answer("a", 1)], asked: [0, 1], news: ["a"] },
    {
      name: "asks the same again when it was cut short",
      steps: [answer("a", 5), undefined, answer("b", 6)],
      asked: [0, 5, 5],
      news: ["a", "b"],
    },
    {
      name: "takes the next answer after a failure for news, whatever its index",
      steps: [answer("a", 5), away, answer("b", 5)],
      asked: [0, 5, 0],
      news: ["a", "b"],
    },
  ];
  for (const { name, steps, asked, news } of cases)
    it(name, async () => {
      const found = await askAll([...steps, undefined]);
      assert.deepEqual([found.asked.slice(0, steps.length), found.news], [asked, news]);
      assert.equal(found.failures.length, steps.filter((step) => step instanceof Error).length);
    });

  it("ends without a failure when it is stopped under way", async () => {
    const { failures, asked } = await askAll([away]);
    assert.deepEqual([failures, asked], [[], [0]]);
  });
});

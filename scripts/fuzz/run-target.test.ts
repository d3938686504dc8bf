import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runInThisContext } from "node:vm";
import { mutate, randomOf } from "./mutate.ts";
import { type FuzzTarget, runTarget } from "./run-target.ts";
import { fuzzTargets } from "./targets.ts";

/** Counts as code of ours, by the name of its script. */
const readMagic = runInThisContext(
  `(text) => {
    if (text[0] !== "a") return;
    if (text[1] !== "b") return void 1;
    if (text[2] !== "c") return void 2;
    if (text[3] !== "d") return void 3;
    throw new TypeError("all four");
  }`,
  { filename: "/packages/magic.js" },
) as (text: string) => void;
const limits = { seed: 1, seconds: 60, maxInputs: 3_000 };
const corpus = [Buffer.from("good"), Buffer.from("other")];
const aTarget = (run: FuzzTarget["run"]): FuzzTarget => ({
  name: "test",
  words: ["word"],
  corpus,
  run,
  isPromised: (error) => error instanceof RangeError,
});

describe("inputs", () => {
  it("are the same for the same seed", () => {
    const made = (seed: number) => {
      const random = randomOf(seed);
      return Array.from({ length: 50 }, () => mutate({ corpus, words: ["word"] }, random).toString("hex"));
    };
    assert.deepEqual(made(7), made(7));
    assert.notDeepEqual(made(7), made(8));
  });
});

describe("a run", () => {
  it("passes over promised errors, in sync and later", async () => {
    const report = await runTarget(
      aTarget((input) => {
        if (input.length % 2 === 0) throw new RangeError("promised");
        return Promise.reject(new RangeError("promised"));
      }),
      limits,
    );
    assert.deepEqual([report.inputs, report.failure], [limits.maxInputs, undefined]);
  });

  it("ends with the input that broke the promise", async () => {
    const { failure } = await runTarget(
      aTarget((input) => {
        if (input.includes("word")) throw new TypeError("not promised");
      }),
      limits,
    );
    assert.match(failure?.reason ?? "", /^TypeError: not promised/);
    assert.ok(failure?.input.includes("word"));
  });

  it("changes inputs further that reach new code: four bytes are found one after the other", async () => {
    const { failure, reached } = await runTarget(
      {
        ...aTarget((input) => readMagic(input.toString("latin1"))),
        words: ["a", "b", "c", "d"],
        corpus: [Buffer.from("x")],
      },
      { ...limits, maxInputs: 60_000 },
    );
    assert.match(failure?.reason ?? "", /all four/);
    assert.ok(reached.length >= 3);
  });

  it("finds an input that takes too long", async () => {
    const { failure } = await runTarget(
      aTarget((input) => {
        const until = process.threadCpuUsage().user + (input.includes("word") ? 150_000 : 0);
        while (process.threadCpuUsage().user < until);
      }),
      limits,
    );
    assert.match(failure?.reason ?? "", /^takes \d+ ms/);
  });

  it("finds memory that stays", async () => {
    const kept: Buffer[][] = [];
    const keep = (input: Buffer) => void kept.push(Array.from({ length: 300 }, () => Buffer.from(input)));
    const { failure } = await runTarget(aTarget(keep), limits);
    assert.match(failure?.reason ?? "", /bytes stay/);
  });
});

describe("targets", () => {
  for (const target of fuzzTargets)
    it(`${target.name} keeps its promises on what is kept, and on 300 inputs made of it`, async () => {
      assert.ok(target.corpus.length > 0);
      const { failure } = await runTarget(target, { ...limits, maxInputs: target.corpus.length + 300 });
      assert.equal(failure?.reason, undefined);
    });
});

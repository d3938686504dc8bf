/**
 * Weights, rewrites and mirrors of random VirtualServices: a real Envoy sends as many of the requests to each destination as the evaluator
 * (`traceCall`) has it, with the same path, host and headers, and its copies reach the back ends that the evaluated route names. A header stands
 * for Envoy's random number, and each number is asked for once. A batch holds 20 rounds of one service; PROPERTY_RUNS is the number of batches.
 */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { checkAsyncProperty, fc } from "@flotilla/testkit";
import { expectNoMoreCopies, expectSplit } from "./expected-split.ts";
import { PlainLab } from "./plain-lab.ts";
import { splitRound } from "./split-rounds.ts";

const lab = await PlainLab.start();
after(() => lab[Symbol.asyncDispose]());

it("requests are split, rewritten and copied in Envoy as the evaluator has it", async (t) => {
  const done = { rounds: 0, requests: 0, splits: 0, copies: 0 };
  await checkAsyncProperty(
    fc.noBias(fc.array(splitRound, { minLength: 20, maxLength: 20 })),
    async (rounds) => {
      const { call, trace } = await lab.serve(rounds.map(({ routes }) => ({ routes, policies: [] })));
      const later: (() => number)[] = [];
      for (const [index, { sum, routes, requests }] of rounds.entries()) {
        done.rounds++;
        for (const { path, base } of requests) {
          const own = { host: `s${index}.shop.svc.cluster.local` };
          const evaluated = trace("client", path, { headers: own });
          const what = `${path} to ${JSON.stringify(routes)}`;
          if (evaluated.destinations.length === 0) {
            done.requests++;
            const { status, reply } = await call("client", path, { headers: own });
            assert.deepEqual([status, reply], [evaluated.end.status, undefined], what);
            continue;
          }
          const ask = (headers: object) => call("client", path, { headers: { ...own, ...headers } });
          const { backends } = lab;
          const ids = await expectSplit({ trace: evaluated, sum, base, backends, what, ask });
          later.push(() => expectNoMoreCopies(evaluated, ids, backends));
          done.requests += ids.length;
          if (evaluated.destinations.length > 1) done.splits++;
        }
      }
      for (const look of later) done.copies += look();
    },
    { runs: 2, shrinks: false },
  );
  t.diagnostic(`${done.rounds} rounds, ${done.requests} requests, ${done.splits} times split, ${done.copies} copies`);
  assert.ok(done.splits > 0 && done.copies > 0);
  assert.deepEqual(await lab.envoy.rejections(), []);
});

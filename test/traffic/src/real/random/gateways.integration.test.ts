/**
 * Random Gateways with the VirtualServices that are bound to them: a real Envoy as ingress gateway takes the connections that the evaluator
 * (`traceCall`) has it take, and answers, redirects, splits and copies requests as in the evaluated way. A batch holds 20 rounds, each with
 * addresses of its own for plain text and TLS; PROPERTY_RUNS is the number of batches.
 */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { checkAsyncProperty, fc } from "@flotilla/testkit";
import { expectNoMoreCopies, expectSplit } from "./expected-split.ts";
import { GatewayLab } from "./gateway-lab.ts";
import { gatewayRound } from "./gateway-rounds.ts";

const lab = await GatewayLab.start();
after(() => lab[Symbol.asyncDispose]());

it("gateways take and route requests in Envoy as the evaluator has it", async (t) => {
  const done = { rounds: 0, requests: 0, copies: 0, ends: new Map<string, number>() };
  const count = (end: string) => done.ends.set(end, (done.ends.get(end) ?? 0) + 1);
  await checkAsyncProperty(
    fc.noBias(fc.array(gatewayRound, { minLength: 20, maxLength: 20 })),
    async (rounds) => {
      const { call, trace } = await lab.serve(rounds);
      const later: (() => number)[] = [];
      for (const [index, round] of rounds.entries()) {
        done.rounds++;
        for (const asked of round.requests) {
          const evaluated = trace(index, asked);
          const what = `${JSON.stringify(asked)} of ${JSON.stringify(round)}`;
          assert.deepEqual(evaluated.end.unless, [], what);
          if (evaluated.destinations.length === 0) {
            done.requests++;
            const answer = await call(index, asked);
            const { kind, status } = evaluated.end;
            assert.deepEqual(
              [answer?.status, answer?.reply],
              [kind === "closed" ? undefined : status, undefined],
              what,
            );
            count(answer === undefined ? "closed" : String(answer.status));
            if (answer?.status === 301)
              assert.equal(answer.headers.location, `https://${asked.host}${asked.path}`, what);
            continue;
          }
          const ask = async (headers: Readonly<Record<string, string>>) => {
            const answer = await call(index, asked, headers);
            assert.ok(answer !== undefined, what);
            return answer;
          };
          const { backends } = lab;
          const { sum } = round;
          const answered = await expectSplit({ trace: evaluated, sum, base: asked.base, backends, what, ask });
          later.push(() => expectNoMoreCopies(evaluated, answered, backends));
          done.requests += answered.length;
          count(`to ${evaluated.destinations.length}`);
        }
      }
      for (const look of later) done.copies += look();
    },
    { runs: 2, shrinks: false },
  );
  const ends = [...done.ends].sort().map(([end, times]) => `${end}: ${times}`);
  t.diagnostic(`${done.rounds} rounds, ${done.requests} requests, ${done.copies} copies; ${ends.join(", ")}`);
  for (const end of ["closed", "301", "404", "to 1", "to 2", "to 3"]) assert.ok(done.ends.has(end), `none was ${end}`);
  assert.deepEqual(await lab.envoy.rejections(), []);
});

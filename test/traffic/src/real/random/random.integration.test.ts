/**
 * The evaluator of routes (`Caller`) and of policies (`admits`) against a real Envoy with what is generated of random
 * VirtualServices and AuthorizationPolicies. A batch holds up to 20 rounds: a service with its routes, a workload with its
 * policies, four requests to each. PROPERTY_RUNS is the number of batches.
 */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { checkAsyncProperty, fc } from "@flotilla/testkit";
import { admits } from "../../simulate/policy.ts";
import type { Answer } from "../client.ts";
import { RandomLab } from "./lab.ts";
import { round } from "./rounds.ts";

const lab = await RandomLab.start();
after(() => lab[Symbol.asyncDispose]());

/** As `Caller` names targets. */
function targetOf({ status, headers, reply }: Answer): string {
  if (reply !== undefined) return reply.version;
  return status === 301 ? `redirect ${headers.location}` : String(status);
}

/** Short forms of what the evaluator says, as a caller sees it. */
function seen(target: string): string {
  if (target === "no route matched") return "404";
  return /^outbound\|\d+\|\|(\w+)\./.exec(target)?.[1] ?? target;
}

it("routes and policies decide in Envoy as the evaluator has it", async (t) => {
  const done = { rounds: 0, requests: 0 };
  await checkAsyncProperty(
    fc.array(round, { minLength: 1, maxLength: 20, size: "max" }),
    async (rounds) => {
      const { caller, clientUrl, call } = await lab.serve(rounds);
      for (const [index, { policies, requests }] of rounds.entries()) {
        done.rounds++;
        for (const { method, path, headers } of requests) {
          done.requests++;
          const what = `round ${index}: ${method} ${path} ${JSON.stringify(headers)}`;
          const host = `s${index}.shop.svc.cluster.local`;
          const options = { method, headers: { host, ...headers } };
          const routed = await call("client", path, options);
          assert.equal(targetOf(routed), seen(caller.calls(`${clientUrl}${path}`, options)), `routes of ${what}`);
          const asked = { method, path: path.replace(/\?.*/, ""), headers, host: "w.example", sourceIp: "127.0.0.1" };
          const { status } = await call(index, path, { method, headers: { host: asked.host, ...headers } });
          assert.equal(status, admits(policies, asked) ? 200 : 403, `policies of ${what}`);
        }
      }
    },
    { runs: 3 },
  );
  t.diagnostic(`${done.rounds} rounds, ${done.requests} requests to a route and to a workload`);
  assert.deepEqual(await lab.rejections(), []);
});

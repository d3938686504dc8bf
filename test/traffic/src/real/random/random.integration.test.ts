/**
 * The evaluators of routes (`Caller`), of policies (`admits`) and of whole ways (`traceCall`) against a real Envoy with what is generated of random
 * VirtualServices and AuthorizationPolicies. A batch holds 20 rounds: a service with its routes, a workload with its
 * policies, four requests to each. PROPERTY_RUNS is the number of batches.
 */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { checkAsyncProperty, fc } from "@flotilla/testkit";
import type { Trace } from "@flotilla/traffic";
import { admits } from "../../reference/policy.ts";
import type { Answer } from "../client.ts";
import { PlainLab } from "./plain-lab.ts";
import { round } from "./rounds.ts";

const lab = await PlainLab.start();
after(() => lab[Symbol.asyncDispose]());

/** As `Caller` names targets. */
function targetOf({ status, headers, reply }: Answer): string {
  if (reply !== undefined) return reply.version;
  // A redirect keeps the query of the request, which the route does not name.
  return status === 301 ? `redirect ${headers.location?.replace(/\?.*/, "")}` : String(status);
}

/** Short forms of the evaluator's results, as a caller sees them. */
function seen(target: string): string {
  if (target === "no route matched") return "404";
  return /^outbound\|\d+\|\|(\w+)\./.exec(target)?.[1] ?? target;
}

/** Nothing that is generated here is left open. */
function tracedStatus({ end, hops }: Trace): number {
  assert.deepEqual([end.unless, hops.filter(({ verdict }) => verdict === "unknown")], [[], []]);
  return end.kind === "forwarded" ? 200 : (end.status ?? 0);
}

/** The same short forms, of a trace. */
function tracedTarget(trace: Trace): string {
  const { end, destinations } = trace;
  const status = tracedStatus(trace);
  if (destinations[0] !== undefined) return seen(destinations[0].cluster);
  return end.status === 301
    ? end.reason.replace(/^301: a redirect to (.*?)(?:\?.*)?\.$/, "redirect $1")
    : String(status);
}

it("routes and policies decide in Envoy as the evaluator has it", async (t) => {
  const done = { rounds: 0, requests: 0, refused: 0, routes: new Set<string>() };
  await checkAsyncProperty(
    // Few runs would otherwise favour the first of all values.
    fc.noBias(fc.array(round, { minLength: 20, maxLength: 20 })),
    async (rounds) => {
      const { caller, clientUrl, call, trace } = await lab.serve(rounds);
      for (const [index, { routes, policies, requests }] of rounds.entries()) {
        done.rounds++;
        for (const { method, path, headers } of requests) {
          done.requests++;
          const asks = `${method} ${path} ${JSON.stringify(headers)}`;
          const host = `s${index}.shop.svc.cluster.local`;
          const options = { method, headers: { host, ...headers } };
          const routed = await call("client", path, options);
          assert.equal(
            targetOf(routed),
            seen(caller.calls(`${clientUrl}${path}`, options)),
            `${asks} to ${JSON.stringify(routes)}`,
          );
          assert.equal(targetOf(routed), tracedTarget(trace("client", path, options)), `${asks} traced`);
          const asked = { method, path: path.replace(/\?.*/, ""), headers, host: "w.example", sourceIp: "127.0.0.1" };
          const arriving = { method, headers: { host: asked.host, ...headers } };
          const { status } = await call(index, path, arriving);
          done.refused += status === 403 ? 1 : 0;
          done.routes.add(targetOf(routed));
          assert.equal(
            status,
            tracedStatus(trace(index, path, arriving)),
            `${asks} traced to ${JSON.stringify(policies)}`,
          );
          assert.equal(status, admits(policies, asked) ? 200 : 403, `${asks} to ${JSON.stringify(policies)}`);
        }
      }
    },
    { runs: 4, shrinks: false },
  );
  t.diagnostic(`${done.rounds} rounds, ${done.requests} requests to a route and to a workload`);
  t.diagnostic(`${done.refused} refused; routes led to ${[...done.routes].sort().join(", ")}`);
  assert.deepEqual(await lab.envoy.rejections(), []);
});

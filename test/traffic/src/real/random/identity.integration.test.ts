/**
 * The evaluators of policies (`admits`, `admitsConnection`, `traceCall`) against a real Envoy that takes mutual TLS and tokens: random policies on
 * principals, namespaces, accounts, claims and ports, of HTTP and TCP ports, in STRICT and PERMISSIVE mode. A batch holds 20 workloads;
 * PROPERTY_RUNS is the number of batches.
 */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { checkAsyncProperty, fc } from "@flotilla/testkit";
import type { Trace } from "@flotilla/traffic";
import { admits, admitsConnection } from "../../reference/policy.ts";
import { IdentityLab } from "./identity-lab.ts";
import {
  type IdentityRequest,
  type IdentityRound,
  identityRound,
  peers,
  tokens,
  trustDomains,
} from "./identity-rounds.ts";

const lab = await IdentityLab.start();
after(() => lab[Symbol.asyncDispose]());

const mesh = { namespace: "shop", trustDomains };

/** Replaces the placeholders of ports in policies by their numbers. */
function placed(round: IdentityRound): IdentityRound {
  const number = (word: string) => String(lab.ports[word as "HTTP" | "TCP"]);
  return JSON.parse(
    JSON.stringify(round).replaceAll(/(?<=\[|,)"(HTTP|TCP)"(?=[\],])/g, (_, word: string) => `"${number(word)}"`),
  );
}

function expectedStatus(
  { mode, issuers, policies }: IdentityRound,
  { peer, token, method, path }: IdentityRequest,
): number | "closed" {
  if (mode === "STRICT" && peer === undefined) return "closed";
  const shown = token && tokens[token];
  const isChecked = issuers.length > 0 && shown !== undefined;
  if (isChecked && ("isForged" in shown || !issuers.includes(shown.claims.iss))) return 401;
  const asked = { method, path, host: "w.example", headers: {}, sourceIp: "127.0.0.1", port: lab.ports.HTTP };
  const known = { peer: peer && peers[peer], claims: isChecked ? shown.claims : undefined };
  return admits(policies, { ...asked, ...known }, mesh) ? 200 : 403;
}

/** Nothing that is generated here is left open. */
function outcomeOf({ end, hops }: Trace): number | "closed" {
  assert.deepEqual([end.unless, hops.filter(({ verdict }) => verdict === "unknown")], [[], []]);
  return end.kind === "forwarded" ? 200 : end.kind === "closed" ? "closed" : (end.status ?? 0);
}

it("identities, tokens and ports decide in Envoy as the evaluator has it", async (t) => {
  const done = new Map<number | string, number>();
  const count = (outcome: number | string) => done.set(outcome, (done.get(outcome) ?? 0) + 1);
  await checkAsyncProperty(
    // Few runs would otherwise favour the first of all values.
    fc.noBias(fc.array(identityRound, { minLength: 20, maxLength: 20 })),
    async (drawn) => {
      const rounds = drawn.map(placed);
      const { call, exchange, trace } = await lab.serve(rounds);
      for (const [index, round] of rounds.entries()) {
        const policies = JSON.stringify(round);
        for (const asked of round.requests) {
          const status = await call(index, asked);
          count(status);
          if (asked.token === undefined || !("isForged" in tokens[asked.token]))
            assert.equal(status, outcomeOf(trace(index, asked)), `${JSON.stringify(asked)} traced to ${policies}`);
          assert.equal(status, expectedStatus(round, asked), `${JSON.stringify(asked)} to ${policies}`);
        }
        for (const { peer } of round.connections) {
          const isTaken = await exchange(index, peer);
          assert.equal(
            isTaken,
            outcomeOf(trace(index, { peer })) === 200,
            `a connection of ${peer} traced to ${policies}`,
          );
          count(isTaken ? "TCP taken" : "TCP closed");
          const connection = { sourceIp: "127.0.0.1", port: lab.ports.TCP, peer: peer && peers[peer] };
          const isLetIn = peer !== undefined || round.mode === "PERMISSIVE";
          const wanted = isLetIn && admitsConnection(round.policies, connection, mesh);
          assert.equal(isTaken, wanted, `a connection of ${peer ?? "nobody"} to ${policies}`);
        }
      }
    },
    { runs: 3, shrinks: false },
  );
  t.diagnostic([...done].map(([outcome, times]) => `${outcome}: ${times}`).join(", "));
  for (const outcome of [200, 401, 403, "closed", "TCP taken", "TCP closed"])
    assert.ok((done.get(outcome) ?? 0) > 0, `no round had the outcome ${outcome}`);
  assert.deepEqual(await lab.envoy.rejections(), []);
});

/** Verdicts of a filter's policies: those that decide, in Envoy's order. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { judgeRules, policiesOf, type Subject } from "./authorization.ts";

const subject: Subject = {
  ...{ method: "GET", path: "/", host: "api", headers: new Map(), address: "10.0.0.1", port: 80, sni: "" },
  ...{ peer: undefined, sourceIp: "10.0.0.2", metadata: new Map() },
};
const any = { permissions: [{ any: true }], principals: [{ any: true }] };

it("policies are in the order of their names, however they are written", () => {
  const policies = { b: any, a: any, d: any, c: any };
  assert.deepEqual(
    policiesOf({ policies }).map(([name]) => name),
    ["a", "b", "c", "d"],
  );
  assert.deepEqual(judgeRules({ policies }, subject), {
    passes: true,
    action: "ALLOW",
    policies: ["a", "b", "c", "d"],
  });
});

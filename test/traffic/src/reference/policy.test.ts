/** `admits` by cases of Istio's reference; against a real Envoy by `real/random`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { admits, admitsConnection, type Policy, type PolicyRequest } from "./policy.ts";

const get: PolicyRequest = {
  method: "GET",
  path: "/a/b",
  host: "w.example",
  headers: { "x-a": "1" },
  sourceIp: "127.0.0.1",
};
const to = (operation: object): Policy => ({ action: "ALLOW", rules: [{ to: [{ operation }] }] });
const from = (source: object): Policy => ({ action: "ALLOW", rules: [{ from: [{ source }] }] });
const when = (condition: object): Policy => ({
  action: "ALLOW",
  rules: [{ when: [{ key: "request.headers[X-A]", ...condition }] }],
});
const deny: Policy = { action: "DENY", rules: [{ to: [{ operation: { paths: ["/a/*"] } }] }] };

const cases: readonly (readonly [name: string, policies: readonly Policy[], want: boolean])[] = [
  ["without policies everything is admitted", [], true],
  ["an ALLOW policy without rules admits nothing", [{ action: "ALLOW" }], false],
  ["a DENY policy without rules refuses nothing", [{ action: "DENY" }], true],
  ["an empty rule admits everything", [{ action: "ALLOW", rules: [{}] }], true],
  ["one ALLOW policy of several is enough", [to({ methods: ["POST"] }), to({ methods: ["GET"] })], true],
  ["a denial comes before an admission", [{ action: "ALLOW", rules: [{}] }, deny], false],
  ["exact paths", [to({ paths: ["/a"] })], false],
  ["prefixes", [to({ paths: ["/a*"] })], true],
  ["suffixes", [to({ paths: ["*b"] })], true],
  ["all fields of an operation", [to({ paths: ["/a*"], methods: ["POST"] })], false],
  ["exceptions", [to({ paths: ["*"], notMethods: ["GET"] })], false],
  ["hosts in any case", [to({ hosts: ["W.*"] })], true],
  ["blocks of addresses", [from({ ipBlocks: ["127.0.0.0/8"] })], true],
  ["other blocks", [from({ ipBlocks: ["10.0.0.0/8"], notIpBlocks: ["127.0.0.2"] })], false],
  ["plain text has no principal", [from({ principals: ["*"] })], false],
  ["and no namespace to except", [from({ notNamespaces: ["shop"] })], true],
  ["headers in any case of their names", [when({ values: ["1"] })], true],
  ["headers that are there", [when({ notValues: ["*"] })], false],
];
for (const [name, policies, want] of cases) test(name, () => assert.equal(admits(policies, get), want));

const known: PolicyRequest = {
  ...get,
  port: 80,
  peer: { trustDomain: "old.domain", namespace: "shop", account: "a" },
  claims: { iss: "one", sub: "s1", aud: ["web", "api"], role: "admin" },
};
const mesh = { namespace: "shop", trustDomains: ["cluster.local", "old.domain"] };
const whenKey = (key: string, values: readonly string[]): Policy => ({
  action: "ALLOW",
  rules: [{ when: [{ key, values }] }],
});
const ofIdentities: readonly (readonly [name: string, policy: Policy, want: boolean])[] = [
  ["principals of an alias of the trust domain", from({ principals: ["cluster.local/ns/shop/sa/a"] }), true],
  ["patterns that name no account in full", from({ principals: ["cluster.local/ns/shop/*"] }), false],
  ["namespaces by prefix", from({ namespaces: ["sh*"] }), true],
  ["accounts of the policy's namespace", from({ serviceAccounts: ["a"] }), true],
  ["accounts of another namespace", from({ serviceAccounts: ["other/a"] }), false],
  ["principals of tokens", from({ requestPrincipals: ["one/*"] }), true],
  ["one claim of a list", whenKey("request.auth.audiences", ["api"]), true],
  ["claims by name", whenKey("request.auth.claims[role]", ["a*"]), true],
  ["claims that are not there", whenKey("request.auth.claims[team]", ["*"]), false],
  ["ports", to({ ports: ["80"] }), true],
  ["ports of conditions", whenKey("destination.port", ["81"]), false],
];
for (const [name, policy, want] of ofIdentities) test(name, () => assert.equal(admits([policy], known, mesh), want));

test("on a port that is not HTTP, a rule that asks for requests admits nothing", () => {
  assert.equal(admitsConnection([to({ methods: ["GET"] })], known, mesh), false);
  assert.equal(admitsConnection([from({ namespaces: ["shop"] })], known, mesh), true);
});

test("and one to DENY is read without what it asks of them", () => {
  const rules = [{ to: [{ operation: { methods: ["GET"], ports: ["80"] } }] }];
  assert.equal(admitsConnection([{ action: "DENY", rules }], known, mesh), false);
  assert.equal(admitsConnection([{ action: "DENY", rules }], { ...known, port: 81 }, mesh), true);
});

test("conditions that are not evaluated are refused", () => {
  const rules = [{ when: [{ key: "source.ip", values: ["127.0.0.1"] }] }];
  assert.throws(() => admits([{ action: "ALLOW", rules }], get), /conditions on source.ip are not evaluated/);
});

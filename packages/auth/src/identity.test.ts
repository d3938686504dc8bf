import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { expandTrustDomains, formatIdentity, parseIdentity, parseServiceAccount } from "./identity.ts";

const abc = { trustDomain: "td", namespace: "a", serviceAccount: "b" };

describe("identity", () => {
  const cases: readonly (readonly [string, object | undefined])[] = [
    ["spiffe://td/ns/a/sa/b", abc],
    ["spiffe://td.with.dots/ns/a.b/sa/c-d", { trustDomain: "td.with.dots", namespace: "a.b", serviceAccount: "c-d" }],
    ["", undefined],
    ["td/ns/a/sa/b", undefined],
    ["SPIFFE://td/ns/a/sa/b", undefined],
    ["spiffe://td/ns/a/sa", undefined],
    ["spiffe://td/ns/a/sa/b/", undefined],
    ["spiffe://td/ns/a/sa/b/c", undefined],
    ["spiffe://td/na/a/sa/b", undefined],
    ["spiffe://td/ns/a/sb/b", undefined],
    ["spiffe:///ns/a/sa/b", undefined],
    ["spiffe://td/ns//sa/b", undefined],
    ["spiffe://td/ns/a/sa/b?x", undefined],
    ["spiffe://td/ns/a/sa/b#x", undefined],
    ["spiffe://td/ns/a/sa/b c", undefined],
    ["spiffe://td/ns/a/sa/%2e", undefined],
    ["spiffe://td/ns/a/sa/b\0", undefined],
  ];
  for (const [text, expected] of cases) {
    it(`${JSON.stringify(text)} is ${expected === undefined ? "no identity" : "read"}`, () =>
      assert.deepEqual(parseIdentity(text), expected));
  }

  it("an @ in a trust domain becomes a dot", () =>
    assert.equal(formatIdentity({ ...abc, trustDomain: "x@y.test" }), "spiffe://x.y.test/ns/a/sa/b"));

  for (const bad of [
    { namespace: "" },
    { serviceAccount: "" },
    { trustDomain: "" },
    { namespace: "a/sa/b" },
    { serviceAccount: "b\n" },
  ]) {
    it(`is not made of ${JSON.stringify(bad)}`, () =>
      assert.throws(() => formatIdentity({ ...abc, ...bad }), { code: "AUTH_BAD_IDENTITY" }));
  }

  it("aliases of a trust domain multiply identities and nothing else", () =>
    assert.deepEqual(expandTrustDomains(["spiffe://td/ns/a/sa/b", "dns.test", "spiffe://td/x"], ["td", "old"]), [
      "dns.test",
      "spiffe://old/ns/a/sa/b",
      "spiffe://td/ns/a/sa/b",
      "spiffe://td/x",
    ]));

  const subjects: readonly (readonly [string, object | undefined])[] = [
    ["system:serviceaccount:a:b", { namespace: "a", serviceAccount: "b" }],
    ["system:serviceaccount:a", undefined],
    ["system:serviceaccount:a:b:c", undefined],
    ["system:serviceaccount::b", undefined],
    ["system:serviceaccount:a/sa/x:b", undefined],
    ["system:node:a", undefined],
    ["alice", undefined],
  ];
  for (const [subject, expected] of subjects) {
    it(`subject ${subject} is ${expected === undefined ? "no account" : "an account"}`, () =>
      assert.deepEqual(parseServiceAccount(subject), expected));
  }
});

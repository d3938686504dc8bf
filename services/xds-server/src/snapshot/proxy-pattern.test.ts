/** Conditions on proxies that patches have: versions by regular expression, metadata by equal text. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Proxy } from "@flotilla/model";
import { aSidecar } from "../testing/mesh.ts";
import { ProxyPattern } from "./proxy-pattern.ts";

const proxy = (metadata: Readonly<Record<string, unknown>>): Proxy =>
  ({ ...aSidecar("shop"), metadata }) as unknown as Proxy;
const condition = (proxyVersion: string, metadata: Readonly<Record<string, string>> = {}) => ({
  proxyVersion,
  metadata,
});

describe("a proxy pattern", () => {
  const of127 = proxy({ ISTIO_VERSION: "1.27.3", team: "a" });
  const cases: readonly (readonly [
    name: string,
    condition: ReturnType<typeof condition>,
    proxy: Proxy,
    want: boolean,
  ])[] = [
    ["without conditions matches every proxy", condition(""), proxy({}), true],
    ["of a version matches a part of it", condition("1\\.27"), of127, true],
    ["of a version matches from the start where it is anchored", condition("^1\\.27.*"), of127, true],
    ["of another version does not match", condition("^1\\.28.*"), of127, false],
    ["of any version does not match a proxy without one", condition(".*"), proxy({}), false],
    ["of a version that is a number matches its text", condition("1"), proxy({ ISTIO_VERSION: 1 }), true],
    ["of metadata matches the same text", condition("", { team: "a" }), of127, true],
    ["of metadata does not match another text", condition("", { team: "b" }), of127, false],
    ["of metadata does not match where it is absent", condition("", { other: "a" }), of127, false],
    ["of metadata does not match an inherited property", condition("", { toString: "x" }), of127, false],
    ["of both needs both", condition("1\\.27", { team: "b" }), of127, false],
    ["of all of several", condition("1\\.27", { team: "a", ISTIO_VERSION: "1.27.3" }), of127, true],
  ];
  for (const [name, given, to, want] of cases)
    it(name, () => {
      const pattern = new ProxyPattern(given);
      assert.equal(pattern.problem, undefined);
      assert.equal(pattern.matches(to), want);
    });

  const problems: readonly (readonly [name: string, version: string, problem: RegExp])[] = [
    ["an expression that RE2 does not parse", "1.2(", /is no regular expression of RE2/],
    ["a look-ahead, which RE2 does not have", "(?=1)", /is no regular expression of RE2/],
    ["an expression that is too long", "1".repeat(1025), /has 1025 characters, an expression has at most 1024/],
  ];
  for (const [name, version, problem] of problems)
    it(`${name} is a problem, and matches no proxy`, () => {
      const pattern = new ProxyPattern(condition(version));
      assert.match(pattern.problem ?? "", problem);
      assert.equal(pattern.matches(of127), false);
    });

  it("is compared by its condition", () => {
    const metadata = { team: "a" };
    const pattern = new ProxyPattern(condition("1", metadata));
    metadata.team = "b";
    assert.equal(JSON.stringify(pattern), '{"proxyVersion":"1","metadata":{"team":"a"}}');
  });
});

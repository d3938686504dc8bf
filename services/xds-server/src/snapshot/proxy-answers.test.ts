/** The facts about a proxy that computations may read, by its node. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Facet } from "@flotilla/incremental";
import { type Proxy, parseIstioVersion } from "@flotilla/model";
import { aSidecar } from "../testing/mesh.ts";
import { facets } from "./proxy-answers.ts";
import { ProxyPattern } from "./proxy-pattern.ts";
import type { Subject } from "./subject.ts";

const subject = (proxy: Proxy, more: Partial<Subject> = {}): Subject => ({ proxy, targets: [], ...more });
const read = <Arg, Value>({ read: of }: Facet<Subject, Arg, Value>, proxy: Proxy, arg: Arg) => of(subject(proxy), arg);
const labelled = (labels: Readonly<Record<string, string>>) => aSidecar("shop", { LABELS: labels });

describe("selectors", () => {
  const web = labelled({ app: "web", version: "v1" });
  const selectors = [{ app: "cart" }, { app: "web", version: "v2" }, { version: "v1" }, {}];
  it("match when all of their labels do, an empty one always", () => {
    assert.deepEqual(
      selectors.map((selector) => read(facets.matches, web, selector)),
      [false, false, true, true],
    );
  });
  it("of a list the first, or -1", () => {
    assert.equal(read(facets.firstMatch, web, selectors), 2);
    assert.equal(read(facets.firstMatch, web, selectors.slice(0, 2)), -1);
  });
  it("of a list all places", () => assert.deepEqual(read(facets.allMatches, web, selectors), [2, 3]));
  it("a label by name, and none that every object inherits", () => {
    assert.deepEqual(
      ["app", "none", "constructor"].map((label) => read(facets.label, web, label)),
      ["web", undefined, undefined],
    );
  });
});

describe("addresses", () => {
  const cases = [
    ["10.0.0.1", undefined, "ipv4"],
    ["2001:db8::1", undefined, "ipv6"],
    ["10.0.0.1", "10.0.0.1,2001:db8::1", "dual"],
    ["2001:db8::1", "2001:db8::1,10.0.0.1", "dual"],
  ] as const;
  for (const [address, more, want] of cases)
    it(`${more ?? address} are ${want}`, () => {
      const proxy = aSidecar("shop", more === undefined ? {} : { INSTANCE_IPS: more }, address);
      assert.equal(read(facets.ipMode, proxy, undefined), want);
    });
});

describe("metadata", () => {
  const proxy = aSidecar("shop", {
    PROXY_CONFIG: { tracing: { sampling: 5 }, concurrency: 0 },
    FLAG: "true",
    NUMBER: 7,
    ISTIO_VERSION: "1.20.3",
  });
  it("the ProxyConfig of the start, by path", () => {
    assert.deepEqual(
      ["tracing.sampling", "concurrency", "tracing.none.deeper", "toString"].map((path) =>
        read(facets.proxyConfig, proxy, path),
      ),
      [{ value: 5 }, { value: 0 }, { value: undefined }, { value: undefined }],
    );
  });
  it("no ProxyConfig where the proxy reported none", () => {
    for (const metadata of [{}, { PROXY_CONFIG: null }, { PROXY_CONFIG: "text" }])
      assert.equal(read(facets.proxyConfig, aSidecar("shop", metadata), "concurrency"), undefined);
  });
  it("raw, as text and as a flag", () => {
    assert.equal(read(facets.metadata, proxy, "NUMBER"), 7);
    assert.equal(read(facets.metadata, proxy, "constructor"), undefined);
    assert.equal(read(facets.metadataText, proxy, "ISTIO_VERSION"), "1.20.3");
    assert.deepEqual(
      ["FLAG", "ISTIO_VERSION", "NONE"].map((key) => read(facets.metadataFlag, proxy, key)),
      [true, false, false],
    );
  });
  it("a version counts from the one that is asked for, an unknown one is newest", () => {
    const [asked, unknown] = [["1.20.2", "1.20.3", "1.21.0"].map(parseIstioVersion), aSidecar("shop")];
    assert.deepEqual(
      asked.map((version) => read(facets.isAtLeast, proxy, version as never)),
      [true, true, false],
    );
    assert.equal(read(facets.isAtLeast, unknown, asked[2] as never), true);
  });
  it("extensions are supported unless the client listed others", () => {
    const listing = { ...proxy, extensions: new Set(["a"]) };
    assert.deepEqual(
      ["a", "b"].map((type) => read(facets.supports, listing, type)),
      [true, false],
    );
    assert.equal(read(facets.supports, proxy, "b"), true);
  });
});

it("secrets are for subjects whose caller proved who it is", () => {
  const proxy = aSidecar("shop");
  assert.deepEqual(
    [{}, { isProven: false }, { isProven: true }].map((more) => facets.isProven.read(subject(proxy, more), undefined)),
    [false, false, true],
  );
  assert.equal(facets.secretAccess.read(subject(proxy, { secretAccess: "refused" }), undefined), "refused");
});

describe("patterns of proxies", () => {
  const at = (version: string | undefined, more: Readonly<Record<string, unknown>> = {}) =>
    aSidecar("shop", { ...(version !== undefined && { ISTIO_VERSION: version }), ...more });
  const pattern = (proxyVersion: string, metadata: Readonly<Record<string, string>> = {}) =>
    new ProxyPattern({ proxyVersion, metadata });

  const cases: readonly (readonly [string, ProxyPattern, Proxy, boolean])[] = [
    ["without conditions match all", pattern(""), at(undefined), true],
    ["a version, anywhere in the text", pattern("1\\.2[0-9]"), at("1.21.4"), true],
    ["another version", pattern("^1\\.20"), at("1.21.4"), false],
    ["a proxy without a version", pattern(".*"), at(undefined), false],
    ["metadata that the proxy has", pattern("", { KEY: "x" }), at("1.21.4", { KEY: "x" }), true],
    ["other metadata", pattern("", { KEY: "x" }), at("1.21.4", { KEY: "y" }), false],
    ["some of the metadata", pattern("", { KEY: "x", MORE: "z" }), at("1.21.4", { KEY: "x" }), false],
    ["both", pattern("1.21", { KEY: "x" }), at("1.22", { KEY: "x" }), false],
    ["no expression", pattern("("), at("("), false],
    ["an expression that is too long", pattern("1".repeat(1_025)), at("1".repeat(1_025)), false],
    ["the longest expression", pattern("1".repeat(1_024)), at("1".repeat(1_024)), true],
  ];
  for (const [name, one, proxy, want] of cases) it(name, () => assert.equal(one.matches(proxy), want));

  it("report what cannot be compiled, and are equal by their condition", () => {
    assert.match(pattern("(").problem ?? "", /no regular expression of RE2/);
    assert.match(pattern("1".repeat(1_025)).problem ?? "", /1025 characters/);
    assert.equal(pattern("1.2").problem, undefined);
    assert.deepEqual(JSON.parse(JSON.stringify(pattern("1.2", { KEY: "x" }))), {
      proxyVersion: "1.2",
      metadata: { KEY: "x" },
    });
    const proxy = at("1.21");
    const all = [pattern("1.20"), pattern("1.21"), pattern("")];
    assert.deepEqual(read(facets.allPatterns, proxy, all), [1, 2]);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { KeySources } from "./key-sources.ts";

const key = (name: string) => ({ kind: "RequestAuthentication", namespace: "shop", name });
const config = (...jwtRules: readonly unknown[]) => ({ spec: { jwtRules } }) as unknown as Config;
const uri = (name: string, more: object = {}) => ({ issuer: name, jwksUri: `https://${name}/keys`, ...more });
const shown = ({ added, removed }: ReturnType<KeySources["note"]>) => [
  added.map(({ source }) => source),
  removed.map(({ source }) => source),
];

describe("sources of keys", () => {
  it("are needed from the first object that names them to the last", () => {
    const sources = new KeySources(false);
    const first = sources.note(key("a"), config(uri("x"), uri("x"), uri("y")));
    assert.deepEqual(shown(first), [["https://x/keys", "https://y/keys"], []]);
    const [x = "", y = ""] = first.added.map(({ name }) => name);
    assert.deepEqual(shown(sources.note(key("b"), config(uri("x")))), [[], []]);
    assert.deepEqual(shown(sources.note(key("a"), config(uri("z")))), [["https://z/keys"], ["https://y/keys"]]);
    assert.deepEqual([sources.isNeeded(x), sources.isNeeded(y)], [true, false]);
    assert.deepEqual(shown(sources.note(key("b"), undefined)), [[], ["https://x/keys"]]);
    assert.deepEqual(shown(sources.note(key("b"), undefined)), [[], []]);
    assert.equal(sources.isNeeded(x), false);
  });

  it("stay where an object changes and names them still", () => {
    const sources = new KeySources(false);
    sources.note(key("a"), config(uri("x")));
    assert.deepEqual(shown(sources.note(key("a"), config(uri("x", { timeout: "1s" })))), [[], []]);
  });

  const cases: readonly (readonly [name: string, proxiesFetch: boolean, rule: unknown, expected: readonly string[]])[] =
    [
      ["are URIs", false, uri("x"), ["https://x/keys"]],
      ["are not URIs that proxies fetch themselves", true, uri("x"), []],
      ["are issuers without a URI, whoever fetches", true, { issuer: "https://x" }, ["https://x"]],
      ["are none with keys of their own", false, { issuer: "https://x", jwks: "{}" }, []],
      ["are none of an issuer that is no address", false, { issuer: "x" }, []],
      ["are none of what is no rule", false, "x", []],
    ];
  for (const [name, proxiesFetch, rule, expected] of cases)
    it(name, () => {
      const { added } = new KeySources(proxiesFetch).note(key("a"), config(rule));
      assert.deepEqual(
        added.map(({ source }) => /https:.*/.exec(source)?.[0]),
        expected,
      );
    });

  it("are none of what has no rules", () => {
    for (const spec of [undefined, null, {}, { jwtRules: "x" }])
      assert.deepEqual(new KeySources(false).note(key("a"), { spec } as Config).added, []);
  });

  for (const [timeout, expected] of [
    [undefined, 5_000],
    ["2.5s", 2_500],
    ["0.0001s", 1],
    ["0s", 5_000],
    ["30s", 30_000],
    ["31s", 30_000],
    ["1m", 5_000],
    [7, 5_000],
  ] as const)
    it(`are waited for ${expected} ms with the timeout ${timeout}`, () => {
      const [source] = new KeySources(false).note(key("a"), config(uri("x", { timeout }))).added;
      assert.equal(source?.timeoutMs, expected);
    });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseUrl } from "./go-url.ts";

const good: readonly [text: string, scheme: string, host: string, port: string][] = [
  ["https://a.example/jwks", "https", "a.example", ""],
  ["HTTP://a.example:8080", "http", "a.example:8080", "8080"],
  ["oci://[::1]:5000/a@sha256:0", "oci", "[::1]:5000", "5000"],
  ["/a/b", "", "", ""],
  ["file:///opt/filter.wasm", "file", "", ""],
];
const bad: readonly [text: string, failure: string][] = [
  ["hTPp\\\blah", String.raw`parse "hTPp\\\blah": net/url: invalid control character in URL`],
  ["relative/path", 'parse "relative/path": invalid URI for request'],
  ["http://a:b/", 'parse "http://a:b/": invalid port ":b" after host'],
  ["http://a b/", 'parse "http://a b/": invalid character " " in host name'],
  ["http://a/%zz", 'parse "http://a/%zz": invalid URL escape "%zz"'],
  [":foo", 'parse ":foo": missing protocol scheme'],
];

describe("parseUrl", () => {
  for (const [text, scheme, host, port] of good) {
    it(`reads ${text}`, () => {
      const parsed = parseUrl(text);
      assert.ok(!("failure" in parsed));
      assert.deepEqual([parsed.scheme, parsed.host, parsed.port], [scheme, host, port]);
    });
  }
  for (const [text, failure] of bad) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.deepEqual(parseUrl(text), { failure }));
  }
});

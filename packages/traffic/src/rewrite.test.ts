/** Paths as they are normalized, and requests as routes rewrite them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { fullCall } from "./call.ts";
import { normalizedPath } from "./normalized-path.ts";
import { rewrittenRequest } from "./rewrite.ts";

describe("a normal path", () => {
  const all = { normalizePath: true, mergeSlashes: true, pathWithEscapedSlashesAction: "UNESCAPE_AND_FORWARD" };
  const cases: readonly (readonly [path: string, config: JsonObject, want: string])[] = [
    ["/a/../b//c?x=/../y", {}, "/a/../b//c?x=/../y"],
    ["/a/../b//c?x=/../y", { normalizePath: true }, "/b//c?x=/../y"],
    ["/a/%2e%2E/b", { normalizePath: true }, "/b"],
    ["/a/./", { normalizePath: true }, "/a/"],
    ["/a/b/..", { normalizePath: true }, "/a/"],
    ["/../a", { normalizePath: true }, "/a"],
    ["/", { normalizePath: true }, "/"],
    ["/c%20d", { normalizePath: true }, "/c%20d"],
    ["//a///b", all, "/a/b"],
    ["/a%2Fb", { normalizePath: true }, "/a%2Fb"],
    ["/a%2F..%5Cb", all, "/b"],
  ];
  for (const [path, typedConfig, want] of cases)
    it(`of ${path} with ${Object.keys(typedConfig).join(", ") || "nothing"}`, () =>
      assert.equal(normalizedPath(path, { typedConfig }), want));
});

describe("a request that is sent on", () => {
  const call = fullCall({ Port: 80, HostHeader: "api", Path: "/v1/a?q=/v1", Headers: { "x-a": "1", "x-b": "2" } });
  const of = (route: JsonObject, chosen?: JsonObject, virtualHost?: JsonObject) =>
    rewrittenRequest({ outcome: {}, call, route, ...(virtualHost && { virtualHost }) }, chosen);
  const header = (key: string, value: string, appendAction?: string) => ({
    header: { key, value },
    ...(appendAction && { appendAction }),
  });
  const overwrite = "OVERWRITE_IF_EXISTS_OR_ADD";

  const paths: readonly (readonly [name: string, route: JsonObject, want: string])[] = [
    ["stays as it is", {}, "/v1/a?q=/v1"],
    ["has another prefix", { match: { prefix: "/v1" }, route: { prefixRewrite: "/v2" } }, "/v2/a?q=/v1"],
    [
      "has another prefix of segments",
      { match: { pathSeparatedPrefix: "/v1" }, route: { prefixRewrite: "/" } },
      "//a?q=/v1",
    ],
    [
      "is replaced where it matched as a whole",
      { match: { path: "/v1/a" }, route: { prefixRewrite: "/b" } },
      "/b?q=/v1",
    ],
    [
      "is rewritten by an expression with its groups",
      { route: { regexRewrite: { pattern: { regex: "^/(v1)/(.)" }, substitution: "/\\2/\\1$" } } },
      "/a/v1$?q=/v1",
    ],
  ];
  for (const [name, route, want] of paths) it(name, () => assert.equal(of(route).Path, want));

  it("has the headers of the destination, the route and the host, in this order", () => {
    const { Headers } = of(
      { requestHeadersToAdd: [header("X-A", "3", overwrite), header("x-b", "4")], requestHeadersToRemove: ["x-c"] },
      { requestHeadersToAdd: [header("x-c", "5"), header("x-a", "6", overwrite)] },
      { requestHeadersToAdd: [header("x-d", "7", "ADD_IF_ABSENT"), header("x-b", "8", "ADD_IF_ABSENT")] },
    );
    assert.deepEqual(Headers, { "x-a": "3", "x-b": "2,4", "x-d": "7" });
  });

  it("has the host of the rewrite, or that of a header", () => {
    assert.equal(of({ route: { hostRewriteLiteral: "inner" } }).HostHeader, "inner");
    const byHeader = of({ requestHeadersToAdd: [header("Host", "other", overwrite)] });
    assert.deepEqual([byHeader.HostHeader, byHeader.Headers], ["other", { "x-a": "1", "x-b": "2" }]);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requestUrl } from "./request-url.ts";

describe("the URL of a request", () => {
  for (const [url, path, full] of [
    ["/version", "/version", null],
    ["//version", "/version", null],
    ["///debug//syncz?full=1", "/debug//syncz", "1"],
    ["/", "/", null],
    ["//", "/", null],
    ["http://proxy.example/ready?full=2", "/ready", "2"],
    [undefined, "/", null],
  ] as const)
    it(`of ${url} has the path ${path}`, () => {
      const { pathname, searchParams } = requestUrl({ url });
      assert.deepEqual([pathname, searchParams.get("full")], [path, full]);
    });
});

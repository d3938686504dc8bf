/** Routes by method and path. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type HttpMethod, RouteTable, requestUrl } from "./routes.ts";

const handler = () => ({ text: "" });
function aTable(...routes: readonly (readonly [HttpMethod, string])[]): RouteTable {
  const table = new RouteTable();
  for (const [method, path] of routes) table.add({ method, path, handler });
  return table;
}

describe("the route of a request", () => {
  const table = aTable(["GET", "/debug/*"], ["GET", "/debug/own"], ["PUT", "/debug/own"], ["GET", "/a"]);
  const cases: readonly (readonly [method: string, path: string, found: string | undefined])[] = [
    ["GET", "/debug/own", "GET /debug/own"],
    ["HEAD", "/debug/own", "GET /debug/own"],
    ["PUT", "/debug/own", "PUT /debug/own"],
    ["GET", "/debug/other/more", "GET /debug/*"],
    ["GET", "/debug/", "GET /debug/*"],
    ["GET", "/debug", undefined],
    ["PUT", "/debug/other", undefined],
    ["DELETE", "/debug/own", undefined],
    ["GET", "/a/b", undefined],
    ["GET", "/debugging", undefined],
  ];
  for (const [method, path, expected] of cases)
    it(`${method} ${path} is ${expected ?? "none"}`, () => {
      const found = table.find(method, path);
      assert.equal(found && `${found.method} ${found.path}`, expected);
    });

  it("may stand once for a method and path", () => {
    assert.throws(() => aTable(["GET", "/a"], ["GET", "/a"]), {
      ...{ name: "HttpError", code: "ROUTE_TAKEN", message: "[ROUTE_TAKEN] GET /a has a handler already" },
    });
    assert.doesNotThrow(() => aTable(["GET", "/a"], ["PUT", "/a"], ["GET", "/b"]));
  });

  it("is listed in order, with its method where that is none of a reader", () =>
    assert.deepEqual(aTable(["GET", "/b"], ["PUT", "/a"], ["GET", "/a"]).paths(), ["/a", "/b", "PUT /a"]));
});

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

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requestOf } from "../upstream/answers.fixture.ts";
import { EndpointTable, type Handlers, isFile, param, required } from "./endpoint.ts";

const table = new EndpointTable(
  Object.fromEntries(
    ["GET /a/{one}", "GET /a/list", "PUT /a/{one}", "GET /a/{one}/b/{two}", "GET /{any}/{other}"].map((name) => [
      name,
      () => name,
    ]),
  ) as unknown as Handlers,
);

describe("the table of endpoints", () => {
  const found: readonly (readonly [method: string, path: string, name: string, params: object])[] = [
    ["GET", "/a/x", "GET /a/{one}", { one: "x" }],
    ["GET", "/a/list", "GET /a/list", {}],
    ["PUT", "/a/list", "PUT /a/{one}", { one: "list" }],
    ["GET", "/a/x%2Fy%20z/b/%7Bq%7D", "GET /a/{one}/b/{two}", { one: "x/y z", two: "{q}" }],
    ["GET", "/b/c", "GET /{any}/{other}", { any: "b", other: "c" }],
  ];
  for (const [method, path, name, params] of found)
    it(`leads ${method} ${path} to ${name}`, () => {
      const one = table.find(method, path);
      assert.deepEqual([one.name, one.params, one.handler(requestOf())], [name, params, name]);
    });

  for (const [method, path, code, message] of [
    ["GET", "/a", "not-found", "there is no /a"],
    ["GET", "/a/x/b", "not-found", "there is no /a/x/b"],
    ["GET", "/a/x/c/y", "not-found", "there is no /a/x/c/y"],
    ["DELETE", "/a/x", "not-found", "/a/x takes GET, PUT, GET only"],
    ["PUT", "/a/x/b/y", "not-found", "/a/x/b/y takes GET only"],
    ["GET", "/a/%E0%A4%A", "bad-request", "%E0%A4%A is not encoded as an address is"],
  ] as const)
    it(`refuses ${method} ${path}: ${message}`, () => assert.throws(() => table.find(method, path), { code, message }));
});

it("a name of the path is there, or the code is wrong", () => {
  const request = requestOf("", { params: { one: "x" } });
  assert.equal(param(request, "one"), "x");
  for (const name of ["two", "toString"]) assert.throws(() => param(request, name), RangeError);
});

it("a parameter that is required is neither absent nor empty", () => {
  assert.equal(required(new URLSearchParams("a=1"), "a"), "1");
  for (const query of ["", "a=", "b=1"])
    assert.throws(() => required(new URLSearchParams(query), "a"), { code: "bad-request", message: "a is missing" });
});

it("a file is an answer with a name of a file", () => {
  const cases: readonly (readonly [answer: unknown, expected: boolean])[] = [
    [{ fileName: "a", contentType: "b", text: "c" }, true],
    [{ name: "a" }, false],
    [null, false],
    ["fileName", false],
    [undefined, false],
  ];
  for (const [answer, expected] of cases) assert.equal(isFile(answer), expected);
});

/** Paths and calls of the contract's endpoints. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CallOptions, FetchJson } from "./fetch-json.ts";
import { callEndpoint, requestPath } from "./requests.ts";

/** Answers everything with what was asked. */
function anApi() {
  const asked: (readonly [string, CallOptions | undefined])[] = [];
  const fetchJson: FetchJson = async <T>(path: string, options?: CallOptions) => {
    asked.push([path, options]);
    return { ok: true, value: "answer" as T };
  };
  return { asked, fetchJson };
}

describe("the path of an endpoint", () => {
  it("has names in place of the braces, encoded", () => {
    assert.equal(
      requestPath("GET /api/v1/kinds/{name}/schema", { name: "a/b ü" }),
      "/api/v1/kinds/a%2Fb%20%C3%BC/schema",
    );
  });
  it("has the query in a fixed order, without undefined and empty values", () => {
    const query = { namespace: "shop", search: "", limit: 0, ...({ offset: undefined } as object) };
    assert.equal(
      requestPath("GET /api/v1/topology/services", {}, query),
      "/api/v1/topology/services?limit=0&namespace=shop",
    );
    assert.equal(requestPath("GET /api/v1/topology/services", {}, { search: "" }), "/api/v1/topology/services");
  });
  for (const names of [{}, { kind: "a" }])
    it(`is none without a value for each name: ${JSON.stringify(names)}`, () =>
      assert.throws(() => requestPath("GET /api/v1/kinds/{name}/schema", names), {
        name: "RangeError",
        message: "GET /api/v1/kinds/{name}/schema needs a value for name",
      }));
  it("takes no name that every object has", () =>
    assert.throws(
      () => requestPath("GET /api/v1/kinds/{toString}" as "GET /api/v1/kinds"),
      /needs a value for toString/,
    ));
});

describe("a call of an endpoint", () => {
  it("has its method and names, and a body only where there is one", async () => {
    const { asked, fetchJson } = anApi();
    const names = { service: "ca", replica: "ca-1" };
    const body = { scope: "ca", level: "debug" };
    await callEndpoint(fetchJson, "PUT /api/v1/settings/{service}/{replica}/levels", { names, body: body as never });
    assert.deepEqual(await callEndpoint(fetchJson, "GET /api/v1/kinds", {}), { ok: true, value: "answer" });
    assert.deepEqual(asked, [
      ["/api/v1/settings/ca/ca-1/levels", { method: "PUT", body }],
      ["/api/v1/kinds", { method: "GET" }],
    ]);
  });
});

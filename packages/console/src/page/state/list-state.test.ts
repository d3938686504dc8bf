import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filtersOf, listRequest, nextSort, pageNumbers, sortDirection } from "./list-state.ts";
import { requestPath } from "./requests.ts";
import { parseAddress } from "./router.ts";

describe("the state of a list", () => {
  const cases = [
    {
      name: "is the first page of the usual order",
      address: "/proxies",
      request: { search: undefined, sort: "proxy", offset: 0, limit: 50 },
    },
    {
      name: "is read whole",
      address: "/proxies?q=web&sort=-state&page=3&rows=100",
      request: { search: "web", sort: "-state", offset: 200, limit: 100 },
    },
    {
      name: "takes no more rows than the server gives",
      address: "/proxies?rows=5000",
      request: { search: undefined, sort: "proxy", offset: 0, limit: 50 },
    },
    {
      name: "takes no page that is none",
      address: "/proxies?page=-2&rows=x",
      request: { search: undefined, sort: "proxy", offset: 0, limit: 50 },
    },
  ];
  for (const { name, address, request } of cases)
    it(name, () => assert.deepEqual(listRequest(parseAddress(address), "proxy"), request));

  it("has the filters that a list knows", () => {
    const place = parseAddress("/proxies?type=sidecar&state=&other=1");
    assert.deepEqual(filtersOf(place, ["type", "version"]), { type: "sidecar" });
  });

  it("goes from ascending to descending, back to the first page", () => {
    assert.deepEqual(nextSort("proxy", undefined), { sort: "proxy", page: undefined });
    assert.deepEqual(nextSort("proxy", "proxy"), { sort: "-proxy", page: undefined });
    assert.deepEqual(
      ["proxy", "-proxy", "state"].map((sort) => sortDirection("proxy", sort)),
      ["ascending", "descending", "none"],
    );
  });

  it("counts pages by the answer's own figures", () => {
    assert.deepEqual(pageNumbers(100, 50, 17, 117), { page: 3, pages: 3, first: 101, last: 117 });
    assert.deepEqual(pageNumbers(0, 50, 0, 0), { page: 1, pages: 1, first: 0, last: 0 });
  });
});

describe("the path of a request", () => {
  it("has its names encoded, and no empty values", () => {
    const names = { kind: "VirtualService", namespace: "-", name: "a/b" };
    assert.equal(
      requestPath("GET /api/v1/objects/{kind}/{namespace}/{name}", names),
      "/api/v1/objects/VirtualService/-/a%2Fb",
    );
    const query = { sort: "proxy", offset: 0, limit: 50, search: "", type: "sidecar" };
    assert.equal(
      requestPath("GET /api/v1/proxies", {}, query),
      "/api/v1/proxies?limit=50&offset=0&sort=proxy&type=sidecar",
    );
  });

  it("needs every name", () => {
    assert.throws(() => requestPath("GET /api/v1/proxies/{proxy}"), /needs a value for proxy/);
  });
});

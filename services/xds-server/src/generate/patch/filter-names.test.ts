/** Filters by their present names and those of Envoy's first releases. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { namesFilter, presentName } from "./filter-names.ts";

it("a former name becomes the present one, and other names stay", () => {
  assert.equal(presentName("envoy.tcp_proxy"), "envoy.filters.network.tcp_proxy");
  assert.equal(presentName("envoy.router"), "envoy.filters.http.router");
  for (const name of ["envoy.filters.http.router", "own"]) assert.equal(presentName(name), name);
});

it("a match names a filter by the present name or the former one", () => {
  const tcpProxy = "envoy.filters.network.tcp_proxy";
  assert.deepEqual(
    [tcpProxy, "envoy.tcp_proxy", "envoy.router"].map((wanted) => namesFilter(wanted, tcpProxy)),
    [true, true, false],
  );
});

/** Specs of routes as they come from sources. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { isRoute, readRoute } from "./read-route.ts";

const aRoute = (kind: string, spec: unknown): Config =>
  ({ key: { kind, namespace: "shop", name: "r" }, labels: {}, annotations: {}, creationTimeMs: 0, spec }) as Config;
const parentRefs = [{ group: "", kind: "Service", name: "web" }];

describe("a route that is read", () => {
  it("has no nulls, however deep", () => {
    const spec = {
      parentRefs,
      hostnames: null,
      rules: [{ matches: null, filters: [{ type: "URLRewrite", urlRewrite: { hostname: "h", path: null } }] }],
    };
    assert.deepEqual(readRoute(aRoute("HTTPRoute", spec)).spec, {
      parentRefs,
      rules: [{ filters: [{ type: "URLRewrite", urlRewrite: { hostname: "h" } }] }],
    });
  });
  it("may be without a spec", () => assert.deepEqual(readRoute(aRoute("HTTPRoute", undefined)).spec, {}));

  for (const kind of ["HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute", "TLSRoute"]) {
    it(`is refused as a ${kind} whose rules are no list`, () =>
      assert.throws(() => readRoute(aRoute(kind, { parentRefs, rules: "none" })), TypeError));
    it(`is not tried as a ${kind} without a parent`, () =>
      assert.doesNotThrow(() => readRoute(aRoute(kind, { rules: "none" }))));
  }
  const odd = { matches: [{ path: { type: "Exact", value: {} } }] };
  it("is refused where no message takes its rules", () =>
    assert.throws(() => readRoute(aRoute("HTTPRoute", { parentRefs, rules: [odd] }))));
  it("is not tried where its route is not followed for another reason", () => {
    const rules = [{ ...odd, backendRefs: [{ name: "portless" }] }];
    assert.doesNotThrow(() => readRoute(aRoute("HTTPRoute", { parentRefs, rules })));
  });
});

it("routes are five kinds", () => {
  const is = (kind: string) => isRoute({ kind, namespace: "", name: "" });
  for (const kind of ["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"]) assert.equal(is(kind), true);
  for (const kind of ["VirtualService", "KubernetesGateway"]) assert.equal(is(kind), false);
});

/** Parents of a route in the mesh, and why a route is not followed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { meshParents, meshRouteHead } from "./mesh-route-head.ts";
import type { HttpRule, ParentRef } from "./route-spec.ts";

const key = { kind: "HTTPRoute", namespace: "shop", name: "r" };
const serviceEntry = { group: "networking.istio.io", kind: "ServiceEntry" };

const parents: readonly { readonly name: string; readonly ref: ParentRef; readonly want: readonly object[] }[] = [
  {
    name: "a Service of the route's namespace, all ports",
    ref: { group: "", kind: "Service", name: "web" },
    want: [{ kind: "Service", namespace: "shop", name: "web", port: 0 }],
  },
  {
    name: "a port of a ServiceEntry of another namespace",
    ref: { ...serviceEntry, name: "e", namespace: "out", port: 443 },
    want: [{ kind: "ServiceEntry", namespace: "out", name: "e", port: 443 }],
  },
  { name: "a Gateway is none", ref: { name: "g" }, want: [] },
  { name: "nor is a Service of another group", ref: { group: "other", kind: "Service", name: "web" }, want: [] },
  { name: "nor another kind of Istio", ref: { ...serviceEntry, kind: "Sidecar", name: "e" }, want: [] },
];

const backend = { name: "a", port: 80 };
const problems: readonly { readonly name: string; readonly rule: HttpRule; readonly want: string }[] = [
  { name: "nothing is wrong", rule: { backendRefs: [backend] }, want: "" },
  { name: "durations", rule: { timeouts: { request: "10s", backendRequest: "500ms" } }, want: "" },
  {
    name: "a wrong duration",
    rule: { timeouts: { request: "10s", backendRequest: "soon" } },
    want: `rule 1: "soon" is not a duration`,
  },
  {
    name: "a backend without a port",
    rule: { backendRefs: [{ name: "a" }] },
    want: "rule 1: backendRef a has no port",
  },
  {
    name: "a filter of a rule",
    rule: { filters: [{ type: "Teleport" }] },
    want: "rule 1: filter Teleport is not supported here",
  },
  {
    name: "a filter of a backend, without a type",
    rule: { backendRefs: [{ ...backend, filters: [{}] }] },
    want: "rule 1: filter without a type is not supported here",
  },
];

describe("the head of a route", () => {
  for (const { name, ref, want } of parents)
    it(`has the parent: ${name}`, () => assert.deepEqual(meshParents([ref], "shop"), want));
  for (const { name, rule, want } of problems)
    it(`has the problem: ${name}`, () => {
      assert.deepEqual(meshRouteHead(key, { rules: [{ backendRefs: [backend] }, rule] }), {
        parents: [],
        hasRules: true,
        problem: want,
      });
    });
  it("without rules has none", () =>
    assert.deepEqual(meshRouteHead(key, {}), { parents: [], hasRules: false, problem: "" }));
});

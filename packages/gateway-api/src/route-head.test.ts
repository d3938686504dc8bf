/** Parents of a route, and why a route is not followed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { routeHead, routeParents } from "./route-head.ts";
import type { HttpRule, ParentRef } from "./route-spec.ts";

const key = { kind: "HTTPRoute", namespace: "shop", name: "r" };
const serviceEntry = { group: "networking.istio.io", kind: "ServiceEntry" };

const parents: readonly { readonly name: string; readonly ref: ParentRef; readonly want: readonly object[] }[] = [
  {
    name: "a Service of the route's namespace, all ports",
    ref: { group: "", kind: "Service", name: "web" },
    want: [{ kind: "Service", namespace: "shop", name: "web", section: "", port: 0 }],
  },
  {
    name: "a port of a ServiceEntry of another namespace",
    ref: { ...serviceEntry, name: "e", namespace: "out", port: 443 },
    want: [{ kind: "ServiceEntry", namespace: "out", name: "e", section: "", port: 443 }],
  },
  {
    name: "a section of a Gateway",
    ref: { name: "g", sectionName: "http" },
    want: [{ kind: "Gateway", namespace: "shop", name: "g", section: "http", port: 0 }],
  },
  { name: "not a Service of another group", ref: { group: "other", kind: "Service", name: "web" }, want: [] },
  { name: "nor another kind of Istio's", ref: { ...serviceEntry, kind: "Sidecar", name: "e" }, want: [] },
];

const backend = { name: "a", port: 80 };
const problems: readonly { readonly name: string; readonly rule: HttpRule; readonly want?: object }[] = [
  { name: "nothing is wrong", rule: { backendRefs: [backend] } },
  { name: "durations", rule: { timeouts: { request: "10s", backendRequest: "500ms" } } },
  {
    name: "a wrong duration",
    rule: { timeouts: { request: "10s", backendRequest: "soon" } },
    want: { reason: "UnsupportedValue", message: '"soon" is not a duration' },
  },
  {
    name: "a backend without a port",
    rule: { backendRefs: [{ name: "a" }] },
    want: { reason: "InvalidDestination", message: "port is required in backendRef" },
  },
  {
    name: "an InferencePool without a port, which it needs none of",
    rule: { backendRefs: [{ group: "inference.networking.k8s.io", kind: "InferencePool", name: "llama" }] },
  },
  {
    name: "an InferencePool by a host name",
    rule: { backendRefs: [{ group: "inference.networking.k8s.io", kind: "InferencePool", name: "llama.shop" }] },
    want: {
      reason: "InvalidDestination",
      message: "InferencePool.Name invalid; the name of the InferencePool must be used, not the hostname.",
    },
  },
  {
    name: "a filter of a rule",
    rule: { filters: [{ type: "Teleport" }] },
    want: { reason: "InvalidFilter", message: 'unsupported filter type "Teleport"' },
  },
  {
    name: "a Service by its host name",
    rule: { backendRefs: [{ name: "a.shop", port: 80 }] },
    want: {
      reason: "InvalidDestination",
      message: "service name invalid; the name of the Service must be used, not the hostname.",
    },
  },
  {
    name: "a header's value with a tab",
    rule: {
      filters: [{ type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "a", value: "x\ty" }] } }],
    },
  },
  {
    name: "a header's value that Envoy refuses",
    rule: {
      filters: [
        { type: "ResponseHeaderModifier", responseHeaderModifier: { add: [{ name: "a", value: "x\u0001y" }] } },
      ],
    },
    want: { reason: "InvalidFilter", message: 'header "a" value contains invalid characters' },
  },
  {
    name: "a filter of a backend, without a type",
    rule: { backendRefs: [{ ...backend, filters: [{}] }] },
    want: { reason: "InvalidFilter", message: 'unsupported filter type ""' },
  },
];

describe("the head of a route", () => {
  for (const { name, ref, want } of parents)
    it(`has the parent: ${name}`, () =>
      assert.deepEqual(
        routeParents([ref, ref], "shop"),
        want.map((parent) => ({ ...parent, ref })),
      ));
  for (const { name, rule, want } of problems)
    it(`has the problem: ${name}`, () => {
      assert.deepEqual(routeHead(key, { rules: [{ backendRefs: [backend] }, rule] }), {
        parents: [],
        hostnames: [],
        hasRules: true,
        ...(want && { problem: want }),
      });
    });
  it("without rules has none", () =>
    assert.deepEqual(routeHead(key, {}), { parents: [], hostnames: [], hasRules: false }));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { type RouteVirtualService, samePlan } from "./route-virtual-services.ts";

const plan: RouteVirtualService = {
  key: { kind: "VirtualService", namespace: "shop", name: "web" },
  creationTimeMs: 1,
  gateway: "infra/edge",
  hosts: ["web.example"],
  port: 0,
  layer: "http",
  hasRules: true,
  isConsumer: false,
  routes: [{ kind: "HTTPRoute", namespace: "shop", name: "web" }],
};

test("plans that are alike are the same, whichever objects they are", () => {
  assert.equal(samePlan(plan, structuredClone(plan)), true);
  assert.equal(samePlan(undefined, undefined), true);
  assert.equal(samePlan(plan, undefined), false);
});

const others: Readonly<Record<string, Partial<RouteVirtualService>>> = {
  "another name": { key: { ...plan.key, name: "other" } },
  "another namespace": { key: { ...plan.key, namespace: "other" } },
  "another age": { creationTimeMs: 2 },
  "another gateway": { gateway: "infra/other" },
  "another host": { hosts: ["other.example"] },
  "one more host": { hosts: ["web.example", "other.example"] },
  "another port": { port: 80 },
  "another layer": { layer: "tcp" },
  "no rules": { hasRules: false },
  "a consumer's routes": { isConsumer: true },
  "another route": { routes: [{ kind: "GRPCRoute", namespace: "shop", name: "web" }] },
  "no route": { routes: [] },
};

for (const [what, change] of Object.entries(others))
  test(`${what} makes another plan`, () => assert.equal(samePlan(plan, { ...plan, ...change }), false));

/** Pickers and sessions of routes' rules. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RouteContext } from "./backends.ts";
import { routeExtras } from "./route-extras.ts";
import type { BackendRef, HttpRule, SessionPersistence } from "./route-spec.ts";

const pickerOf = (pool: string) => ({ host: `${pool}-picker.shop`, port: 9002, failsOpen: false });
const context: RouteContext = {
  namespace: "shop",
  domain: "cluster.local",
  hasService: () => true,
  poolService: (_, name) => ({ host: `${name}.pool`, port: 54321, picker: pickerOf(name) }),
};
const pool = (name: string): BackendRef => ({ group: "inference.networking.k8s.io", kind: "InferencePool", name });
const web: BackendRef = { name: "web", port: 80 };

function extrasOf(rules: readonly HttpRule[], kind = "HTTPRoute", name = "r") {
  const key = { kind, namespace: "shop", name };
  return routeExtras([{ key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { rules } }], () => context);
}
const only = (rule: HttpRule, kind?: string, name?: string) => [...(extrasOf([rule], kind, name)?.values() ?? [])][0];

describe("the endpoint picker of a rule", () => {
  it("is that of its only back end", () =>
    assert.deepEqual(only({ backendRefs: [pool("llama")] }), { picker: pickerOf("llama") }));
  it("sees all requests where the pool is the last of several back ends", () =>
    assert.deepEqual(only({ backendRefs: [web, pool("llama")] }), { picker: pickerOf("llama") }));
  it("is by host where the pool is not the last", () =>
    assert.deepEqual(only({ backendRefs: [pool("llama"), web] }), {
      pickers: new Map([["llama.pool", pickerOf("llama")]]),
    }));
  it("is by host where there are several pools", () =>
    assert.deepEqual(only({ backendRefs: [pool("a"), pool("b")] }), {
      pickers: new Map([
        ["a.pool", pickerOf("a")],
        ["b.pool", pickerOf("b")],
      ]),
    }));
  it("does not count for a pool without traffic, nor for a GRPCRoute", () => {
    assert.equal(extrasOf([{ backendRefs: [web, { ...pool("llama"), weight: 0 }] }]), undefined);
    assert.equal(extrasOf([{ backendRefs: [pool("llama")] }], "GRPCRoute"), undefined);
  });
});

describe("the session of a rule", () => {
  const session = (sessionPersistence: SessionPersistence, name?: string) =>
    only({ sessionPersistence, backendRefs: [web] }, "HTTPRoute", name)?.session;
  it("is a cookie with the name that it states, or a header", () => {
    assert.deepEqual(session({ sessionName: "s" }), { carrier: "cookie", name: "s" });
    assert.deepEqual(session({ sessionName: "s", type: "Header" }), { carrier: "header", name: "s" });
    assert.deepEqual(session({ sessionName: "s", type: "Cookie" }), { carrier: "cookie", name: "s" });
  });
  it("has a name of its own for each rule that states none", () => {
    const [one, other] = [session({}, "one"), session({}, "other")];
    assert.match(one?.name ?? "", /^x-session-[0-9a-f]+$/);
    assert.notEqual(one?.name, other?.name);
    assert.deepEqual(one, session({}, "one"));
  });
  it("lasts for its time only as a permanent cookie", () => {
    const times = { sessionName: "s", absoluteTimeout: "1h" };
    assert.equal(session({ ...times, cookieConfig: { lifetimeType: "Permanent" } })?.lifetime?.seconds, 3600n);
    assert.equal(session({ ...times, cookieConfig: { lifetimeType: "Session" } })?.lifetime, undefined);
    assert.equal(session(times)?.lifetime, undefined);
    assert.equal(session({ sessionName: "s", cookieConfig: { lifetimeType: "Permanent" } })?.lifetime, undefined);
  });
  it("is a GRPCRoute's too", () =>
    assert.deepEqual(only({ sessionPersistence: { sessionName: "s" } }, "GRPCRoute")?.session?.name, "s"));
});

it("rules with nothing of it are left out, and routes without any have none", () => {
  assert.equal(extrasOf([{ backendRefs: [web] }]), undefined);
  assert.equal(extrasOf([]), undefined);
  const found = extrasOf([{ backendRefs: [web] }, { sessionPersistence: { sessionName: "s" } }]);
  assert.equal(found?.size, 1);
});

/** Listeners with filters that only some routes of the Gateway API ask for: endpoint pickers at Gateways, sessions at Gateways and in the mesh. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Proxy } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aRouter, aSidecar, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { keepsRouteSessions, picksEndpoints } from "./routes-with-filters.ts";

const routerOf = (gateway?: string): Proxy =>
  aRouter("shop", { LABELS: gateway === undefined ? {} : { "gateway.networking.k8s.io/gateway-name": gateway } });
const pool = { group: "inference.networking.k8s.io", kind: "InferencePool", name: "llama" };
const web = { name: "web", port: 80 };
const gateway = { name: "edge" };
const service = { group: "", kind: "Service", name: "web" };

function read(kind: string, spec: JsonObject, proxy: Proxy) {
  const snapshot = snapshotOf({ changes: put(aConfig(kind, "shop", "r", spec)), proxy });
  return { picks: snapshot.read(picksEndpoints), keeps: snapshot.read(keepsRouteSessions) };
}

describe("an endpoint picker sees requests", () => {
  const picks = (backendRefs: readonly JsonObject[], proxy: Proxy, parentRefs: readonly JsonObject[] = [gateway]) =>
    read("HTTPRoute", { parentRefs: [...parentRefs], rules: [{ backendRefs: [...backendRefs] }] }, proxy).picks;
  it("of the Gateway that a route to a pool is for", () => {
    assert.equal(picks([web, pool], routerOf("edge")), true);
    assert.equal(picks([pool], routerOf("edge"), [service, gateway]), true);
  });
  it("of no other", () => {
    assert.equal(picks([pool], routerOf("other")), false);
    assert.equal(picks([pool], routerOf()), false);
    assert.equal(picks([web], routerOf("edge")), false);
    assert.equal(picks([pool], routerOf("edge"), [service]), false);
    assert.equal(picks([pool], routerOf("edge"), [{ ...gateway, namespace: "bank" }]), false);
  });
});

describe("sessions are kept", () => {
  const sessionPersistence = { sessionName: "s" };
  const rules = [{ backendRefs: [web] }, { sessionPersistence, backendRefs: [web] }];
  for (const kind of ["HTTPRoute", "GRPCRoute"]) {
    const keeps = (parentRefs: readonly JsonObject[], proxy: Proxy) =>
      read(kind, { parentRefs: [...parentRefs], rules }, proxy).keeps;
    it(`where a ${kind} asks for them: at Gateways, or in the mesh`, () => {
      assert.deepEqual([keeps([gateway], routerOf("edge")), keeps([gateway], aSidecar("shop"))], [true, false]);
      assert.deepEqual([keeps([service], routerOf("edge")), keeps([service], aSidecar("shop"))], [false, true]);
      assert.equal(keeps([gateway, service], aSidecar("shop")), true);
    });
  }
  it("nowhere without such a rule", () =>
    assert.equal(read("HTTPRoute", { parentRefs: [gateway], rules: [rules[0] ?? {}] }, routerOf("edge")).keeps, false));
});

/** EnvoyFilters that change what stands inside of a sidecar's inbound listener, and nothing else. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject } from "../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../testing/mesh.ts";

const own = anEntry("a", { endpoints: [{ address: "10.0.0.1", labels: { app: "web" } }] });

function listenerWith(patch: JsonObject, name = "virtualInbound"): string {
  const filter = anObject("EnvoyFilter", "shop/f", { configPatches: [patch] });
  return JSON.stringify(resourceOf(aKubeMesh([own, filter]), aSidecar("shop"), typeUrl.listener, name));
}

const routePatch = (context: string, match: JsonObject = {}) => ({
  applyTo: "VIRTUAL_HOST",
  match: { context, ...match },
  patch: { operation: "MERGE", value: { requireTls: "ALL" } },
});
const listenerPatch = (context: string, listener: JsonObject = {}) => ({
  applyTo: "LISTENER",
  match: { context, listener },
  patch: { operation: "MERGE", value: { trafficDirection: "OUTBOUND", statPrefix: "patched" } },
});

describe("routes within the inbound listener", () => {
  const named = (name: string) => ({ routeConfiguration: { name } });
  const cases: readonly (readonly [name: string, patch: JsonObject, isChanged: boolean])[] = [
    ["are changed by patches of inbound routes", routePatch("SIDECAR_INBOUND"), true],
    ["are changed by patches of any context", routePatch("ANY"), true],
    ["are left by patches of outbound routes", routePatch("SIDECAR_OUTBOUND"), false],
    ["are left by patches of gateways", routePatch("GATEWAY"), false],
    ["are changed by their name", routePatch("SIDECAR_INBOUND", named("inbound|80||")), true],
    ["are left by another name", routePatch("SIDECAR_INBOUND", named("inbound|81||")), false],
  ];
  for (const [name, patch, isChanged] of cases)
    test(name, () => assert.equal(listenerWith(patch).includes('"requireTls":"ALL"'), isChanged));
});

describe("a listener", () => {
  const cases: readonly (readonly [name: string, patch: JsonObject, isChanged: boolean])[] = [
    ["is changed by patches of its context", listenerPatch("SIDECAR_INBOUND"), true],
    ["is left by patches of the other direction", listenerPatch("SIDECAR_OUTBOUND"), false],
    ["is changed by its name", listenerPatch("SIDECAR_INBOUND", { name: "virtualInbound" }), true],
    ["is left by another name", listenerPatch("SIDECAR_INBOUND", { name: "another" }), false],
  ];
  for (const [name, patch, isChanged] of cases)
    test(name, () => assert.equal(listenerWith(patch).includes('"statPrefix":"patched"'), isChanged));
});

describe("a listener of calls that go out", () => {
  const outbound = (listener: JsonObject) => listenerWith(listenerPatch("SIDECAR_OUTBOUND", listener), "0.0.0.0_80");
  const cases: readonly (readonly [name: string, listener: JsonObject, isChanged: boolean])[] = [
    ["is changed by its port", { portNumber: 80 }, true],
    ["is left by another port", { portNumber: 81 }, false],
    ["is changed by its name", { name: "0.0.0.0_80" }, true],
  ];
  for (const [name, listener, isChanged] of cases)
    test(name, () => assert.equal(outbound(listener).includes('"statPrefix":"patched"'), isChanged));
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isForeignKind, noEffectReason, type UsedObject } from "./index.ts";

const cases: readonly (readonly [name: string, kind: string, object: UsedObject, reason: RegExp | undefined])[] = [
  ["a VirtualService of the mesh", "VirtualService", { spec: { hosts: ["a"] } }, undefined],
  ["one for the mesh and a gateway", "VirtualService", { spec: { gateways: ["gw", "mesh"] } }, undefined],
  ["one for gateways only", "VirtualService", { spec: { gateways: ["gw"] } }, undefined],
  ["an EnvoyFilter", "EnvoyFilter", {}, undefined],
  ["a ProxyConfig", "ProxyConfig", {}, undefined],
  ["a WasmPlugin", "WasmPlugin", {}, undefined],
  ["a Gateway", "Gateway", {}, undefined],
  ["a Gateway of the Gateway API", "KubernetesGateway", { labels: {} }, undefined],
  ["a route of a Service", "HTTPRoute", { spec: { parentRefs: [{ kind: "Service" }] } }, undefined],
  ["a route of a Gateway", "GRPCRoute", { spec: { parentRefs: [{ name: "gw" }] } }, undefined],
  [
    "a route of something else",
    "GRPCRoute",
    { spec: { parentRefs: [{ kind: "Mesh" }] } },
    /has no Gateway, ListenerSet/,
  ],
  ["a policy for a namespace", "AuthorizationPolicy", { spec: {} }, undefined],
  ["a policy for a waypoint", "AuthorizationPolicy", { spec: { targetRefs: [{ kind: "Service" }] } }, undefined],
  ["a policy for a gateway", "AuthorizationPolicy", { spec: { targetRef: { kind: "Gateway" } } }, undefined],
];

describe("objects without an effect", () => {
  for (const [name, kind, object, reason] of cases)
    it(`${name} ${reason === undefined ? "has an effect" : "has none"}`, () => {
      const found = noEffectReason(kind, object);
      if (reason === undefined) assert.equal(found, undefined);
      else assert.match(found ?? "", reason);
    });
});

describe("foreign kinds", () => {
  for (const [apiVersion, kind, isForeign] of [
    ["apps/v1", "Deployment", true],
    ["argoproj.io/v1alpha1", "Rollout", true],
    ["v1", "PersistentVolumeClaim", true],
    ["v1", "Service", false],
    ["v1", "Secret", false],
    ["networking.istio.io/v1", "EnvoyFilter", false],
    ["gateway.networking.k8s.io/v1", "UDPRoute", false],
    // Misspelt, so not foreign.
    ["networking.istio.io/v1", "VirtualServce", false],
    ["v1", "VirtualService", false],
  ] as const)
    it(`${apiVersion} ${kind} is ${isForeign ? "foreign" : "not foreign"}`, () => {
      assert.equal(isForeignKind({ apiVersion, kind }), isForeign);
    });
});

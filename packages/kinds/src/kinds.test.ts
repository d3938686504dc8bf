import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apiVersionOf, isIstioKind, kindNamed, kindOf, kinds } from "./index.ts";

const found: readonly { apiVersion: string; kind: string; name: string | undefined; namespaced?: boolean }[] = [
  { apiVersion: "networking.istio.io/v1", kind: "VirtualService", name: "VirtualService", namespaced: true },
  { apiVersion: "networking.istio.io/v1alpha3", kind: "Gateway", name: "Gateway", namespaced: true },
  { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", name: "KubernetesGateway", namespaced: true },
  { apiVersion: "gateway.networking.k8s.io/v1", kind: "GatewayClass", name: "GatewayClass", namespaced: false },
  { apiVersion: "v1", kind: "Service", name: "Service", namespaced: true },
  { apiVersion: "v1", kind: "Namespace", name: "Namespace", namespaced: false },
  { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", name: "EndpointSlice", namespaced: true },
  { apiVersion: "networking.istio.io/v1", kind: "Virtualservice", name: undefined },
  { apiVersion: "v1", kind: "VirtualService", name: undefined },
];

describe("kinds", () => {
  for (const { apiVersion, kind, name, namespaced } of found) {
    it(`${apiVersion} ${kind} is ${name ?? "unknown"}`, () => {
      const row = kindOf({ apiVersion, kind });
      assert.equal(row?.name, name);
      assert.equal(row?.namespaced, namespaced);
    });
  }

  it("names every kind once, and every kind of a group once", () => {
    assert.equal(new Set(kinds.map(({ name }) => name)).size, kinds.length);
    assert.equal(new Set(kinds.map(({ group, plural }) => `${plural}.${group}`)).size, kinds.length);
  });

  it("knows all of Istio's kinds with their messages", () => {
    const istio = kinds.filter(isIstioKind);
    assert.equal(istio.length, 15);
    assert.equal(kindNamed("ProxyConfig")?.message, "istio.networking.v1beta1.ProxyConfig");
    assert.equal(kindNamed("VirtualService")?.message, "istio.networking.v1alpha3.VirtualService");
  });

  it("finds a kind by the name used within the mesh", () => {
    assert.equal(kindNamed("KubernetesGateway")?.group, "gateway.networking.k8s.io");
    assert.equal(kindNamed("Gateway")?.group, "networking.istio.io");
  });

  it("writes objects in the storage version", () => {
    const versions = ["VirtualService", "Telemetry", "Service"]
      .map((name) => kindNamed(name))
      .map((row) => row && apiVersionOf(row));
    assert.deepEqual(versions, ["networking.istio.io/v1", "telemetry.istio.io/v1alpha1", "v1"]);
  });
});

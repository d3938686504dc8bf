/** Selects the mesh's objects of shared kinds, by the objects received on the bus. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConfigChange, KubeObject } from "@flotilla/model";
import { ServedObjects } from "./served-objects.ts";

function put(kind: string, namespace: string, name: string, spec: object): ConfigChange {
  const key = { kind, namespace, name };
  return {
    ...{ type: "config", op: "put", key },
    value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: spec as never },
  };
}

const heard = [
  put("GatewayClass", "", "ours", { controllerName: "istio.io/gateway-controller" }),
  put("GatewayClass", "", "theirs", { controllerName: "example.com/gateways" }),
  put("IngressClass", "", "edge", { controller: "istio.io/ingress-controller" }),
  put("IngressClass", "", "nginx", { controller: "k8s.io/ingress-nginx" }),
  put("KubernetesGateway", "edge", "front", { gatewayClassName: "ours" }),
  put("KubernetesGateway", "edge", "other", { gatewayClassName: "theirs" }),
  put("ListenerSet", "shop", "more", { parentRef: { name: "front", namespace: "edge" } }),
];

function served(mode = "STRICT"): ServedObjects {
  const objects = new ServedObjects(() => ({ ingressControllerMode: mode }));
  for (const change of heard) objects.note(change);
  return objects;
}

function route(...parentRefs: readonly object[]): KubeObject {
  const metadata = { name: "a", namespace: "shop" };
  return { apiVersion: "gateway.networking.k8s.io/v1", kind: "HTTPRoute", metadata, spec: { parentRefs } };
}

describe("objects of shared kinds", () => {
  const routes: readonly (readonly [string, KubeObject, boolean])[] = [
    ["of a Gateway of the mesh", route({ name: "front", namespace: "edge" }), true],
    ["of a Gateway of another controller", route({ name: "other", namespace: "edge" }), false],
    ["of an unknown Gateway", route({ name: "front" }), false],
    ["of a ListenerSet of the mesh", route({ kind: "ListenerSet", name: "more" }), true],
    ["of a Service", route({ kind: "Service", name: "a" }), true],
    ["of one of several parents", route({ name: "other", namespace: "edge" }, { kind: "Service", name: "a" }), true],
    ["without parents", { ...route(), spec: {} }, true],
    ["of Istio's kinds", { ...route(), apiVersion: "networking.istio.io/v1" }, true],
  ];
  for (const [name, object, expected] of routes)
    it(`${expected ? "concern" : "do not concern"} the mesh: one ${name}`, () =>
      assert.equal(served().concerns(object), expected));

  it("are served by the controller that their class names, else by the usual name", () => {
    const { gatewayRole, isServedIngress } = served();
    const roles = ["ours", "theirs", "istio", "istio-waypoint", "nobody"].map(gatewayRole);
    assert.deepEqual(roles, ["ingress", undefined, "ingress", "waypoint", undefined]);
    const isServed = (className?: string) => isServedIngress({ annotation: undefined, className });
    assert.deepEqual([isServed("edge"), isServed("nginx"), isServed()], [true, false, false]);
    const annotated = (annotation: string) => isServedIngress({ annotation, className: undefined });
    assert.deepEqual([annotated("istio"), annotated("nginx")], [true, false]);
    assert.equal(served("DEFAULT").isServedIngress({ annotation: undefined, className: undefined }), true);
  });

  it("are another's again when what they belong to is deleted", () => {
    const objects = served();
    objects.note({
      type: "config",
      op: "delete",
      key: { kind: "KubernetesGateway", namespace: "edge", name: "front" },
    });
    assert.equal(objects.concerns(route({ name: "front", namespace: "edge" })), false);
  });
});

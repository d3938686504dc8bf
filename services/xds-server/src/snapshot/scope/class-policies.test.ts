/** Policies that name a GatewayClass concern the gateways of that class, from the root namespace alone. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KubeObject, parseNode } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anObject } from "../../testing/kube-mesh.ts";
import { resourceOf } from "../../testing/mesh.ts";

const gatewayName = "gateway.networking.k8s.io/gateway-name";
const waypoint = parseNode({
  id: "waypoint~10.0.0.7~w.shop~shop.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", LABELS: { [gatewayName]: "w" } },
});
const gateway = {
  ...anObject("Gateway", "shop/w", {
    spec: { gatewayClassName: "istio-waypoint", listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }] },
    status: { addresses: [{ type: "Hostname", value: "w.shop.svc.cluster.local" }] },
  }),
  apiVersion: "gateway.networking.k8s.io/v1",
} as KubeObject;
const service = anObject("Service", "shop/a", {
  metadata: { labels: { "istio.io/use-waypoint": "w" } },
  spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "a" } },
});
const denied = "spiffe-marker";

function isCarriedOut(path: string, target: JsonObject): boolean {
  const rules = [{ from: [{ source: { namespaces: [denied] } }] }];
  const policy = anObject("AuthorizationPolicy", path, { spec: { action: "DENY", targetRefs: [target], rules } });
  const core = aKubeMesh([gateway, service, policy], { env: { PILOT_ENABLE_AMBIENT: "true" } });
  return JSON.stringify(resourceOf(core, waypoint, typeUrl.listener, "main_internal")).includes(denied);
}

const ofClass = (name: string) => ({ group: "gateway.networking.k8s.io", kind: "GatewayClass", name });

describe("a policy for a class of gateways", () => {
  const cases: readonly (readonly [name: string, path: string, target: JsonObject, isCarriedOut: boolean])[] = [
    ["is carried out by waypoints of that class", "istio-system/p", ofClass("istio-waypoint"), true],
    ["is not carried out by those of another class", "istio-system/p", ofClass("another"), false],
    ["has no effect outside of the root namespace", "shop/p", ofClass("istio-waypoint"), false],
    ["names a class of its group", "istio-system/p", { ...ofClass("istio-waypoint"), group: "example.com" }, false],
    ["for a Service is the Service's", "shop/p", { group: "", kind: "Service", name: "a" }, true],
    ["for another Service is not", "shop/p", { group: "", kind: "Service", name: "b" }, false],
    ["for a Service of another namespace is not", "istio-system/p", { group: "", kind: "Service", name: "a" }, false],
  ];
  for (const [name, path, target, expected] of cases)
    test(name, () => assert.equal(isCarriedOut(path, target), expected));
});

/** Addresses of both families in the listeners of gRPC programs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../testing/mesh.ts";

function additional(env: Readonly<Record<string, string>>, metadata: JsonObject, listener: string): string {
  const clusterIPs = ["10.96.0.1", "2001:db8::1"];
  const ports = [{ name: "grpc", port: 80, targetPort: 8080 }];
  const service = anObject("Service", "shop/web", {
    spec: { clusterIP: "10.96.0.1", clusterIPs, ipFamilies: ["IPv4", "IPv6"], selector: { app: "web" }, ports },
  });
  const program = aSidecar("shop", { GENERATOR: "grpc", ...metadata });
  return inShort(
    fieldAt(resourceOf(aKubeMesh([service], { env }), program, typeUrl.listener, listener), "additionalAddresses"),
  );
}

const both = { INSTANCE_IPS: "10.0.0.1,2001:db8::9" };

describe("a gRPC program's listener has the other family's address", () => {
  for (const [name, env, metadata, is] of [
    [
      "where the control plane knows of both",
      { ISTIO_DUAL_STACK: "true" },
      both,
      "[{address: {socketAddress: {address: 2001:db8::1, portValue: 80}}}]",
    ],
    ["not where it knows of one", {}, both, "none"],
    ["not where the program has one", { ISTIO_DUAL_STACK: "true" }, {}, "none"],
  ] as const)
    it(name, () => assert.equal(additional(env, metadata, "web.shop.svc.cluster.local:80"), is));
});

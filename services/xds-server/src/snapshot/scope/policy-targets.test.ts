import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Proxy, parseNode } from "@flotilla/model";
import { aConfig, aMesh, aRouter } from "../../testing/mesh.ts";
import { query } from "../view.ts";
import { authorizationPolicies } from "./authn.ts";

const gatewayName = "gateway.networking.k8s.io/gateway-name";
const to = (kind: string, name: string) => ({ group: "gateway.networking.k8s.io", kind, name });
const core = aMesh(
  aConfig("AuthorizationPolicy", "shop", "all", { rules: [] }),
  aConfig("AuthorizationPolicy", "shop", "front", { targetRefs: [to("Gateway", "front")] }),
  aConfig("AuthorizationPolicy", "shop", "back", { targetRef: to("Gateway", "back") }),
  aConfig("AuthorizationPolicy", "shop", "class", { targetRefs: [to("GatewayClass", "front")] }),
  aConfig("AuthorizationPolicy", "shop", "label", { selector: { matchLabels: { [gatewayName]: "front" } } }),
);

const cases: readonly { readonly name: string; readonly proxy: Proxy; readonly want: readonly string[] }[] = [
  {
    name: "a Gateway's proxies follow policies that name it, select them or hold for all",
    proxy: aRouter("shop", { LABELS: { [gatewayName]: "front" } }),
    want: ["all", "front", "label"],
  },
  { name: "another router follows none that names a Gateway", proxy: aRouter("shop"), want: ["all"] },
  {
    name: "a Gateway of another namespace is another one",
    proxy: aRouter("bank", { LABELS: { [gatewayName]: "front" } }),
    want: [],
  },
  {
    name: "a waypoint follows those that name its Gateway, and none that select workloads or hold for all",
    proxy: parseNode({
      id: "waypoint~10.0.0.9~front.shop~shop.svc.cluster.local",
      locality: { region: "", zone: "", subzone: "" },
      metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", LABELS: { [gatewayName]: "front" } },
    }),
    want: ["front"],
  },
];

const ownPolicies = query("own-policies", (view) => view.read(authorizationPolicies, ""));

describe("policies with targets", () => {
  for (const { name, proxy, want } of cases)
    it(name, () => {
      const found = core.read(ownPolicies, core.subjectOf(proxy));
      assert.deepEqual(found.map(({ key }) => key.name).sort(), want);
    });
});

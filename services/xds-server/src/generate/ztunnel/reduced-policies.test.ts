/** WADS: what ztunnels are sent of policies, and which of them a workload names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, type Labels, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anObject } from "../../testing/kube-mesh.ts";

const ztunnel = parseNode({
  id: "ztunnel~10.0.9.1~ztunnel-1.istio-system~istio-system.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes" },
});

function aPolicy(name: string, spec: JsonObject, annotations: Labels = {}): KubeObject {
  return anObject("AuthorizationPolicy", `shop/${name}`, { metadata: { annotations }, spec });
}

function aPeer(path: string, spec: JsonObject): KubeObject {
  return anObject("PeerAuthentication", path, { spec });
}

function aPod(path: string, labels: Labels, account = "a", address = "10.0.0.1"): KubeObject {
  return anObject("Pod", path, {
    metadata: { labels },
    spec: { serviceAccountName: account },
    status: { phase: "Running", podIP: address, conditions: [{ type: "Ready", status: "True" }] },
  });
}

function sent(objects: readonly KubeObject[], env: Readonly<Record<string, string>> = {}) {
  const core = aKubeMesh(objects, { env: { PILOT_ENABLE_AMBIENT: "true", ...env } });
  const subject = core.subjectOf(ztunnel);
  core.observe(subject, typeUrl.authorization, undefined, () => undefined);
  const json = (type: string) =>
    new Map(
      [...(core.resources(subject, type)?.byName ?? [])].map(([name, { bytes }]) => [
        name,
        bytesToJson(type, bytes) as JsonObject,
      ]),
    );
  const policies = json(typeUrl.authorization);
  return {
    policies,
    policiesOf: (uid: string) => json(typeUrl.workload).get(uid)?.["authorizationPolicies"] ?? [],
    findings: () => core.findings(),
  };
}

const app = { matchLabels: { app: "a" } };
const fromShop = { from: [{ source: { namespaces: ["shop"] } }] };
const get = { to: [{ operation: { methods: ["GET"] } }] };
const uid = "Kubernetes//Pod/shop/p";

test("an ALLOW policy of which nothing is left allows no caller, and its object is reported", () => {
  const { policies, policiesOf, findings } = sent([
    aPolicy("http", { selector: app, rules: [get] }),
    aPolicy("other", { action: "CUSTOM", provider: { name: "x" }, selector: app, rules: [fromShop] }),
    aPolicy("targeted", { targetRefs: [{ kind: "Service", group: "", name: "a" }], rules: [fromShop] }),
    aPod("shop/p", { app: "a" }),
  ]);
  assert.deepEqual([...policies.keys()], ["shop/http"]);
  assert.equal(policies.get("shop/http")?.["groups"], undefined);
  assert.deepEqual(policiesOf(uid), ["shop/http"]);
  const reported = findings().filter(({ metric }) => metric === "flotilla_ztunnel_policy_reduced");
  assert.deepEqual(reported.map(({ object }) => object).sort(), [
    "AuthorizationPolicy/shop/http",
    "AuthorizationPolicy/shop/other",
  ]);
});

test("policies that are only tried are sent where ztunnels know them, and enforced by none", () => {
  const tried = aPolicy("tried", { selector: app, rules: [fromShop] }, { "istio.io/dry-run": "true" });
  const objects = [tried, aPod("shop/p", { app: "a" })];
  assert.equal(sent(objects).policies.size, 0);
  const { policies, policiesOf } = sent(objects, { AMBIENT_ENABLE_DRY_RUN_AUTHORIZATION_POLICY: "true" });
  assert.equal(policies.get("shop/tried")?.["dryRun"], true);
  assert.deepEqual(policiesOf(uid), ["shop/tried"]);
});

test("in the root namespace PeerAuthentications with a selector do not count", () => {
  const strict = aPeer("istio-system/p", {
    selector: app,
    mtls: { mode: "STRICT" },
    portLevelMtls: { 80: { mode: "DISABLE" } },
  });
  const { policies, policiesOf } = sent([strict, aPod("istio-system/p", { app: "a" })]);
  assert.deepEqual([...policies.keys()], ["istio-system/istio_converted_static_strict"]);
  assert.deepEqual(policiesOf("Kubernetes//Pod/istio-system/p"), []);
});

const gateway = {
  ...anObject("Gateway", "shop/w", {
    metadata: { labels: { "istio.io/waypoint-for": "all" } },
    spec: {
      gatewayClassName: "istio-waypoint",
      listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }],
    },
    status: { addresses: [{ type: "Hostname", value: "w.shop.svc.cluster.local" }] },
  }),
  apiVersion: "gateway.networking.k8s.io/v1",
} as KubeObject;
const service = anObject("Service", "shop/a", {
  metadata: { labels: { "istio.io/use-waypoint": "w" } },
  spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "a" } },
});
const proxyOf = (name: string, account: string) =>
  aPod(`shop/${name}`, { "gateway.networking.k8s.io/gateway-name": "w" }, account, "10.0.0.9");
const autoAllow = { PILOT_AUTO_ALLOW_WAYPOINT_POLICY: "true" };

test("workloads behind a waypoint allow the accounts of its pods alone, where that is wanted", () => {
  const objects = [gateway, service, aPod("shop/p", { app: "a" }), proxyOf("w-1", "w"), proxyOf("w-2", "v")];
  assert.deepEqual(sent(objects).policiesOf(uid), []);
  const { policies, policiesOf } = sent(objects, autoAllow);
  const name = "shop/istio_allow_waypoint_shop_w";
  assert.deepEqual(policiesOf(uid), [name]);
  assert.deepEqual(policiesOf("Kubernetes//Pod/shop/w-1"), []);
  const principals = ["cluster.local/ns/shop/sa/v", "cluster.local/ns/shop/sa/w"].map((exact) => ({ exact }));
  assert.deepEqual(policies.get(name)?.["groups"], [{ rules: [{ matches: [{ principals }] }] }]);
});

test("a waypoint without pods has no policy, which would allow no caller", () => {
  const { policies, policiesOf } = sent([gateway, service, aPod("shop/p", { app: "a" })], autoAllow);
  assert.equal(policies.size, 0);
  assert.deepEqual(policiesOf(uid), []);
});

/** Waypoints of joined clusters. Source: scenario ambient/joined-waypoints. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, type Labels, parseNode } from "@flotilla/model";
import { createMesh } from "@flotilla/registry";
import { Core } from "../../app/core.ts";
import { anObject } from "../../testing/kube-mesh.ts";
import { parseFeatures } from "../features.ts";
import { serviceText } from "../row-index.ts";
import { query } from "../view.ts";
import { serviceBinding, workloadBinding } from "./waypoints.ts";

const env = { PILOT_ENABLE_AMBIENT: "true", AMBIENT_ENABLE_MULTI_NETWORK: "true" };
const mesh = { serviceScopeConfigs: [{ scope: "GLOBAL", servicesSelector: { matchLabels: { global: "true" } } }] };
const ztunnel = parseNode({
  id: "ztunnel~10.0.0.9~z.istio-system~istio-system.svc.cluster.local",
  metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes" },
});

const aNamespace = (name: string, labels: Labels = {}, annotations: Labels = {}) =>
  anObject("Namespace", `/${name}`, { metadata: { labels, annotations } });
const aService = (path: string, labels: Labels = {}) =>
  anObject("Service", path, {
    metadata: { labels: { global: "true", ...labels } },
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "a" } },
  });
const aPod = (path: string) =>
  anObject("Pod", path, {
    metadata: { labels: { app: "a" } },
    spec: { serviceAccountName: "a" },
    status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  });
function aGateway(path: string): KubeObject {
  const [namespace, name] = path.split("/");
  const gateway = anObject("Gateway", path, {
    metadata: { labels: { "istio.io/waypoint-for": "all" } },
    spec: { gatewayClassName: "istio-waypoint", listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }] },
    status: { addresses: [{ type: "Hostname", value: `${name}.${namespace}.svc.cluster.local` }] },
  });
  return { ...gateway, apiVersion: "gateway.networking.k8s.io/v1" } as KubeObject;
}
const uses = (name: string) => ({ "istio.io/use-waypoint": name });

function bindings(own: readonly KubeObject[], east: readonly KubeObject[]) {
  const core = new Core({ features: parseFeatures(env) });
  core.apply(createMesh(env).apply({ put: own, mesh, networks: { networks: {} }, clusters: { east } }));
  const names = query("joined-bindings", (view) => {
    const services = ["shop", "lone"].map((namespace) =>
      view.read(serviceBinding, serviceText.write({ namespace, hostname: `web.${namespace}.svc.cluster.local` })),
    );
    return [...services, view.read(workloadBinding, "east//Pod/shop/p")].map(({ waypoint }) => waypoint?.name);
  });
  return core.read(names, core.subjectOf(ztunnel));
}

const east = [
  ...[aNamespace("shop", uses("there")), aNamespace("lone", uses("lone"))],
  ...[aService("shop/web"), aService("lone/web"), aPod("shop/p")],
  ...[aGateway("shop/there"), aGateway("lone/lone")],
];
const own = [aNamespace("shop", uses("here")), aService("shop/web"), aGateway("shop/here")];

test("a service that another cluster alone has is bound by that cluster, and so are its workloads", () =>
  assert.deepEqual(bindings(own, east), ["here", "lone", "there"]));

test("the own cluster's namespaces and Gateways bind nothing there", () =>
  assert.deepEqual(
    bindings(
      [...own, aNamespace("lone", uses("lone")), aGateway("lone/lone")],
      [...[aNamespace("shop"), aNamespace("lone"), aService("lone/web"), aPod("shop/p")]],
    ),
    ["here", undefined, undefined],
  ));

test("a service there that is not global is bound to none", () =>
  assert.deepEqual(
    bindings(own, [aNamespace("lone", uses("lone")), aService("lone/web", { global: "no" }), aGateway("lone/lone")]),
    ["here", undefined, undefined],
  ));

test("the namespace there names a second waypoint and its share", () => {
  const labels = { ...uses("lone"), "istio.io/use-waypoint-canary": "second" };
  const home = aNamespace("lone", labels, { "istio.io/use-waypoint-canary-weight": "30", other: "x" });
  const core = new Core({ features: parseFeatures(env) });
  const there = [home, aService("lone/web"), aGateway("lone/lone"), aGateway("lone/second")];
  core.apply(createMesh(env).apply({ put: [], mesh, networks: { networks: {} }, clusters: { east: there } }));
  const name = serviceText.write({ namespace: "lone", hostname: "web.lone.svc.cluster.local" });
  const binding = core.read(
    query("joined-share", (view) => view.read(serviceBinding, name)),
    core.subjectOf(ztunnel),
  );
  assert.deepEqual([binding.canary?.waypoint.name, binding.canary?.weight], ["second", 30]);
});

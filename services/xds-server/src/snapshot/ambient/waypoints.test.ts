import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, type KubeObject, type Labels, parseNode } from "@flotilla/model";
import { aKubeMesh, anEntry, anObject } from "../../testing/kube-mesh.ts";
import { serviceText } from "../row-index.ts";
import { query } from "../view.ts";
import { serviceBinding, servicesOfWaypoint, waypoint, waypointText, workloadsOfWaypoint } from "./waypoints.ts";

const proxy = parseNode({
  id: "waypoint~10.0.0.9~w.shop~shop.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes" },
});

function aGateway(labels: Labels = {}, spec: object = {}, address = "w.shop.svc.cluster.local"): KubeObject {
  const gateway = anObject("Gateway", "shop/w", {
    metadata: { labels },
    spec: {
      gatewayClassName: "istio-waypoint",
      listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }],
      ...spec,
    },
    status: { addresses: address === "" ? [] : [{ type: "Hostname", value: address }] },
  });
  return { ...gateway, apiVersion: "gateway.networking.k8s.io/v1" } as KubeObject;
}

const aNamespace = (name: string, labels: Labels = {}) =>
  anObject("Namespace", `/${name}`, { metadata: { labels: { "kubernetes.io/metadata.name": name, ...labels } } });
const aService = (path: string, labels: Labels = {}) =>
  anObject("Service", path, {
    metadata: { labels },
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "a" } },
  });
const aPod = (path: string, labels: Labels = {}) =>
  anObject("Pod", path, {
    metadata: { labels: { app: "a", ...labels } },
    spec: { serviceAccountName: "a" },
    status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  });

const uses = { "istio.io/use-waypoint": "w" };
const all = { "istio.io/waypoint-for": "all" };
const fromAll = {
  listeners: [{ name: "mesh", port: 15008, protocol: "HBONE", allowedRoutes: { namespaces: { from: "All" } } }],
};

const cases: readonly {
  readonly name: string;
  readonly objects: readonly KubeObject[];
  readonly services?: readonly string[];
  readonly workloads?: readonly string[];
}[] = [
  {
    name: "a service names its waypoint by a label, and a waypoint for services takes no workloads",
    objects: [aGateway(), aService("shop/a", uses), aService("shop/b"), aPod("shop/p", uses)],
    services: ["shop/a.shop.svc.cluster.local"],
  },
  {
    name: "a namespace names the waypoint of all its services and workloads, but for those that want none",
    objects: [
      ...[aGateway(all), aNamespace("shop", uses), aService("shop/a"), aPod("shop/p")],
      ...[aService("shop/b", { "istio.io/use-waypoint": "none" }), aPod("shop/q", { "istio.io/use-waypoint": "none" })],
    ],
    services: ["shop/a.shop.svc.cluster.local"],
    workloads: ["Kubernetes//Pod/shop/p"],
  },
  {
    name: "another namespace attaches only where the listener allows it",
    objects: [aGateway(), aService("other/a", { ...uses, "istio.io/use-waypoint-namespace": "shop" })],
  },
  {
    name: "a listener that allows all namespaces takes services of others",
    objects: [aGateway({}, fromAll), aService("other/a", { ...uses, "istio.io/use-waypoint-namespace": "shop" })],
    services: ["other/a.other.svc.cluster.local"],
  },
  {
    name: "a waypoint without an address yet serves no workload",
    objects: [aGateway(all, {}, ""), aService("shop/a", uses), aPod("shop/p", uses)],
  },
  {
    name: "an address of a slice, of which no pod is known, goes through none",
    objects: [
      ...[aGateway(all), aNamespace("shop", uses), anObject("Service", "shop/s", { spec: { ports: [{ port: 80 }] } })],
      anObject("EndpointSlice", "shop/s-1", {
        metadata: { labels: { "kubernetes.io/service-name": "s" } },
        ...{ addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }], ports: [{ port: 80 }] },
      }),
    ],
    services: ["shop/s.shop.svc.cluster.local"],
  },
  {
    name: "the waypoint's own service and pods go through none",
    objects: [
      ...[aGateway(all), aNamespace("shop", uses)],
      aService("shop/w", { "gateway.istio.io/managed": "istio.io-mesh-controller" }),
      aPod("shop/w-1", { "gateway.networking.k8s.io/gateway-name": "w" }),
    ],
  },
];

const name = waypointText.write({ namespace: "shop", name: "w" });
const users = query("users-of-waypoint", (view) => ({
  services: view.read(servicesOfWaypoint, name).map(({ namespace, hostname }) => `${namespace}/${hostname}`),
  workloads: view.read(workloadsOfWaypoint, name),
  waypoint: view.read(waypoint, name),
}));

for (const { name: title, objects, services = [], workloads = [] } of cases) {
  test(title, () => {
    const core = aKubeMesh(objects, { env: { PILOT_ENABLE_AMBIENT: "true" } });
    const found = core.read(users, core.subjectOf(proxy));
    assert.deepEqual({ services: found.services, workloads: found.workloads }, { services, workloads });
  });
}

test("a waypoint has the host name of its status and the port of its listener", () => {
  const core = aKubeMesh([aGateway(all)], { env: { PILOT_ENABLE_AMBIENT: "true" } });
  const { waypoint: found } = core.read(users, core.subjectOf(proxy));
  assert.deepEqual(found?.destination, { namespace: "shop", hostname: "w.shop.svc.cluster.local" });
  assert.equal(found?.port, 15008);
});

const ledger = serviceText.write({ namespace: "shop", hostname: "ledger.shop.example" });
const bound = query("binding-of-an-entry", (view) => view.read(serviceBinding, ledger));

test("a ServiceEntry names by an annotation the share of calls that go through a second waypoint", () => {
  const second = aGateway(all, {}, "c.shop.svc.cluster.local");
  const labels = { ...uses, "istio.io/use-waypoint-canary": "c" };
  const entry = (annotations: Labels) => anEntry("ledger", { metadata: { labels, annotations } });
  const weightOf = (annotations: Labels) => {
    const gateways = [aGateway(all), { ...second, metadata: { ...second.metadata, name: "c" } }];
    const core = aKubeMesh([...gateways, entry(annotations)], { env: { PILOT_ENABLE_AMBIENT: "true" } });
    return core.read(bound, core.subjectOf(proxy)).canary?.weight;
  };
  assert.deepEqual([weightOf({ "istio.io/use-waypoint-canary-weight": "30" }), weightOf({})], [30, 0]);
});

test("an endpoint that has the name of its ServiceEntry's host is bound by its namespace, a host without endpoints is not", () => {
  const home = aNamespace("shop", uses);
  const boundOf = (spec: JsonObject) => {
    const core = aKubeMesh([home, aGateway(all), anEntry("ledger", { spec })], {
      env: { PILOT_ENABLE_AMBIENT: "true" },
    });
    return core.read(users, core.subjectOf(proxy)).workloads.length;
  };
  const spec = { hosts: ["ledger.shop.example"], resolution: "DNS", ports: [{ number: 80, name: "http" }] };
  assert.deepEqual([boundOf(spec), boundOf({ ...spec, endpoints: [{ address: "ledger.shop.example" }] })], [0, 1]);
});

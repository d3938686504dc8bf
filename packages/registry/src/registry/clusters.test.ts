import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultRegistrySettings } from "../settings.ts";
import { ClusterRegistries } from "./clusters.ts";
import type { RegistryChange } from "./published.ts";
import type { RegistryInput } from "./registry-input.ts";
import { config, gone, pod, put, service, slice } from "./sample-objects.fixture.ts";

const of = (cluster: string, ...inputs: readonly RegistryInput[]): readonly RegistryInput[] =>
  inputs.map((input) => (input.type === "object" ? { ...input, cluster } : input));

function short(changes: readonly RegistryChange[]): readonly string[] {
  return changes.map(({ type, op, key }) => `${op} ${type} ${key.shard}`).sort();
}

test("clusters have shards of their own; the mesh documents hold for those that come later too", () => {
  const all = new ClusterRegistries(defaultRegistrySettings);
  all.apply([config("MeshConfig", "mesh", { trustDomain: "td" })]);
  const objects = (address: string) => [
    put(service("a")),
    put(pod("p", address)),
    put(slice("s", "a", { p: address })),
  ];
  all.apply(objects("10.1.0.1"));
  const { changes } = all.apply(of("east", ...objects("10.2.0.1")));
  assert.deepEqual(short(changes), ["put endpoints Kubernetes/east", "put service Kubernetes/east"]);
  const endpoints = changes.find(({ type }) => type === "endpoints");
  assert.equal(endpoints?.type === "endpoints" && endpoints.op === "put" && endpoints.value[0]?.clusterId, "east");
  assert.equal(
    endpoints?.type === "endpoints" && endpoints.op === "put" && endpoints.value[0]?.serviceAccount,
    "spiffe://td/ns/n/sa/sa",
  );
  assert.equal(all.state().length, 4);
  const left = all.apply([{ type: "cluster", op: "delete", cluster: "east" }]);
  assert.deepEqual(short(left.changes), ["delete endpoints Kubernetes/east", "delete service Kubernetes/east"]);
  assert.equal(left.urgent, true);
  assert.deepEqual(short(all.state()), ["put endpoints Kubernetes/Kubernetes", "put service Kubernetes/Kubernetes"]);
});

const entry = (spec: object) =>
  config("ServiceEntry", "se", {
    hosts: ["se.example"],
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    resolution: "STATIC",
    ...spec,
  });

function addressesOf(all: ClusterRegistries, shard: string): readonly string[] {
  return all
    .state()
    .flatMap((one) =>
      one.type === "endpoints" && one.op === "put" && one.key.shard === shard
        ? one.value.map(({ addresses, clusterId }) => `${clusterId} ${addresses[0]}`)
        : [],
    );
}

test("a ServiceEntry selects pods of all clusters; it is a service of the own one alone", () => {
  const all = new ClusterRegistries(defaultRegistrySettings);
  all.apply([put(pod("p", "10.1.0.1", { app: "a" }))]);
  all.apply(of("east", put(pod("p", "10.2.0.1", { app: "a" }))));
  all.apply([entry({ workloadSelector: { labels: { app: "a" } } })]);
  // One that comes later.
  all.apply(of("west", put(pod("p", "10.3.0.1", { app: "a" }))));
  assert.deepEqual(addressesOf(all, "External/Kubernetes"), ["Kubernetes 10.1.0.1"]);
  assert.deepEqual(addressesOf(all, "External/east"), ["east 10.2.0.1"]);
  assert.deepEqual(addressesOf(all, "External/west"), ["west 10.3.0.1"]);
  const services = all.state().filter(({ type }) => type === "service");
  assert.deepEqual(
    services.map(({ key }) => key.shard),
    ["External/Kubernetes"],
  );

  all.apply(of("east", gone("Pod", "p")));
  assert.deepEqual(addressesOf(all, "External/east"), []);
  all.apply([entry({ endpoints: [{ address: "192.0.2.1" }] })]);
  assert.deepEqual(addressesOf(all, "External/Kubernetes"), ["Kubernetes 192.0.2.1"]);
  assert.deepEqual(addressesOf(all, "External/west"), []);
});

test("a service is for callers of its own cluster until that exports it, where exports are asked for", () => {
  const all = new ClusterRegistries({ ...defaultRegistrySettings, exportedOnly: true });
  const objects = [put(service("a")), put(pod("p", "10.0.0.1")), put(slice("s", "a", { p: "10.0.0.1" }))];
  all.apply([...objects, ...of("east", ...objects)]);
  const clusterOnly = () =>
    all
      .state()
      .flatMap((one) =>
        one.type === "endpoints" && one.op === "put" && one.value[0]?.isClusterOnly === true ? [one.key.shard] : [],
      );
  assert.deepEqual(clusterOnly(), ["Kubernetes/Kubernetes", "Kubernetes/east"]);
  const exported = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ServiceExport",
    metadata: { name: "a", namespace: "n" },
  };
  all.apply(of("east", put(exported)));
  assert.deepEqual(clusterOnly(), ["Kubernetes/Kubernetes"]);
  all.apply(of("east", gone("ServiceExport", "a")));
  assert.deepEqual(clusterOnly(), ["Kubernetes/Kubernetes", "Kubernetes/east"]);
});

function serviceImport(...ips: readonly string[]): RegistryInput {
  return put({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ServiceImport",
    metadata: { name: "a", namespace: "n" },
    spec: { type: "ClusterSetIP", ips },
  });
}

/** Cluster → its addresses of the service in the cluster set. */
function clusterSetAddresses(all: ClusterRegistries): Readonly<Record<string, readonly string[]>> {
  return Object.assign(
    {},
    ...all
      .state()
      .map((one) =>
        one.type === "service" && one.op === "put" && one.value.hostname === "a.n.svc.clusterset.local"
          ? one.value.clusterVips
          : {},
      ),
  );
}

function clusterSetEndpoints(all: ClusterRegistries): readonly string[] {
  return all
    .state()
    .flatMap((one) =>
      one.type === "endpoints" && one.key.hostname === "a.n.svc.clusterset.local" ? [one.key.shard] : [],
    )
    .sort();
}

test("each cluster imports with addresses of its own, the endpoints are those of all", () => {
  const all = new ClusterRegistries({ ...defaultRegistrySettings, clusterSetHosts: true });
  const objects = (address: string) => [
    put(service("a")),
    put(pod("p", address)),
    put(slice("s", "a", { p: address })),
  ];
  all.apply([...objects("10.1.0.1"), ...of("east", ...objects("10.2.0.1"))]);
  assert.deepEqual([clusterSetAddresses(all), clusterSetEndpoints(all)], [{}, []]);
  all.apply([config("ServiceImport", "a", { ips: ["242.0.0.9", "242.0.0.1"] })]);
  assert.deepEqual(clusterSetAddresses(all), { Kubernetes: ["242.0.0.1", "242.0.0.9"] });
  assert.deepEqual(clusterSetEndpoints(all), ["Kubernetes/Kubernetes", "Kubernetes/east"]);
  all.apply(of("east", serviceImport("243.0.0.1", "none")));
  assert.deepEqual(clusterSetAddresses(all), { Kubernetes: ["242.0.0.1", "242.0.0.9"], east: ["243.0.0.1"] });
  assert.deepEqual(
    all.problems().filter(({ object }) => object.includes("ServiceImport")),
    [{ object: "east: ServiceImport/n/a", field: "spec.ips[1]", reason: '"none" is no address' }],
  );
  // The API server's word goes before the configuration's, which counts again without it.
  all.apply([serviceImport("244.0.0.1")]);
  assert.deepEqual(clusterSetAddresses(all)["Kubernetes"], ["244.0.0.1"]);
  all.apply([gone("ServiceImport", "a")]);
  assert.deepEqual(clusterSetAddresses(all)["Kubernetes"], ["242.0.0.1", "242.0.0.9"]);

  all.apply([{ type: "config", op: "delete", key: { kind: "ServiceImport", namespace: "n", name: "a" } }]);
  assert.deepEqual(clusterSetAddresses(all), { east: ["243.0.0.1"] });
  assert.deepEqual(clusterSetEndpoints(all), ["Kubernetes/Kubernetes", "Kubernetes/east"]);
  all.apply([{ type: "cluster", op: "delete", cluster: "east" }]);
  assert.deepEqual([clusterSetAddresses(all), clusterSetEndpoints(all)], [{}, []]);
});

test("services of the cluster set are those that each cluster itself exports or imports", () => {
  const all = new ClusterRegistries({ ...defaultRegistrySettings, clusterSetHosts: true, exportedOnly: true });
  const metadata = { name: "a", namespace: "n" };
  const serviceExport = put({ apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ServiceExport", metadata });
  all.apply([put(service("a")), serviceExport, ...of("east", put(service("a")), serviceImport("243.0.0.1"))]);
  assert.deepEqual(all.clusterSetServices(), [
    { cluster: "Kubernetes", ...metadata, exported: true, importedAddresses: undefined },
    { cluster: "east", ...metadata, exported: false, importedAddresses: ["243.0.0.1"] },
  ]);
});

test("a cluster imports what only another has, also one that comes later", () => {
  const all = new ClusterRegistries({ ...defaultRegistrySettings, clusterSetHosts: true });
  all.apply(of("east", serviceImport("243.0.0.1")));
  assert.deepEqual(clusterSetAddresses(all), {});
  all.apply(of("west", put(service("a")), put(pod("p", "10.3.0.1")), put(slice("s", "a", { p: "10.3.0.1" }))));
  assert.deepEqual(clusterSetAddresses(all), { east: ["243.0.0.1"] });
  assert.deepEqual(clusterSetEndpoints(all), ["Kubernetes/west"]);
  all.apply(of("west", gone("Service", "a")));
  assert.deepEqual(clusterSetAddresses(all), {});
});

test("under the host of the cluster set callers of others see clusters that import the service, too", () => {
  const all = new ClusterRegistries({ ...defaultRegistrySettings, clusterSetHosts: true, exportedOnly: true });
  const metadata = { name: "a", namespace: "n" };
  const objects = [
    put({ apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ServiceExport", metadata }),
    ...[put(service("a")), put(pod("p", "10.0.0.1")), put(slice("s", "a", { p: "10.0.0.1" }))],
  ];
  all.apply([...objects, ...of("east", ...objects, serviceImport("243.0.0.1"))]);
  const clusterOnly = () =>
    all
      .state()
      .flatMap((one) =>
        one.type === "endpoints" && one.op === "put" && one.value[0]?.isClusterOnly === true
          ? [`${one.key.shard} ${one.key.hostname}`]
          : [],
      );
  assert.deepEqual(clusterOnly(), ["Kubernetes/Kubernetes a.n.svc.clusterset.local"]);
  all.apply([serviceImport("244.0.0.1")]);
  assert.deepEqual(clusterOnly(), []);
});

test("imports of a cluster do not depend on the order within one group", () => {
  const all = new ClusterRegistries({ ...defaultRegistrySettings, clusterSetHosts: true });
  all.apply([
    ...of("east", serviceImport("243.0.0.1"), gone("ServiceImport", "a")),
    ...of("west", serviceImport("244.0.0.1")),
    ...of("east", put(service("a")), put(pod("p", "10.2.0.1")), put(slice("s", "a", { p: "10.2.0.1" }))),
  ]);
  assert.deepEqual(clusterSetEndpoints(all), ["Kubernetes/east"]);
});

test("imports of a cluster's first object are published", () => {
  const all = new ClusterRegistries({ ...defaultRegistrySettings, clusterSetHosts: true });
  all.apply([put(service("a")), put(pod("p", "10.3.0.1")), put(slice("s", "a", { p: "10.3.0.1" }))]);
  const { changes } = all.apply(of("east", serviceImport("243.0.0.1")));
  const reported = changes
    .filter((change) => change.type === "service")
    .map(({ op, key }) => `${op} ${key.shard} ${key.hostname}`);
  assert.deepEqual(reported, ["put Kubernetes/east a.n.svc.clusterset.local"]);
});

test("Gateways of other clusters that name addresses are ways into their networks", () => {
  const all = new ClusterRegistries(defaultRegistrySettings);
  const gateway = (...ports: readonly number[]) =>
    put({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "eastwest", namespace: "n", labels: { "topology.istio.io/network": "net-2" } },
      spec: {
        gatewayClassName: "istio-east-west",
        addresses: [{ type: "IPAddress", value: "192.0.2.2" }],
        listeners: ports.map((port) => ({
          port,
          tls: { options: { "gateway.istio.io/listener-protocol": "auto-passthrough" } },
        })),
      },
    });
  const ways = () =>
    all
      .state()
      .flatMap((one) =>
        one.type === "service" && one.op === "put"
          ? [
              `${one.key.shard} ${one.value.exportTo} ${JSON.stringify(one.value.clusterExternalAddresses)} ${one.value.labels["networking.istio.io/gatewayPort"]}`,
            ]
          : [],
      )
      .sort();
  // The own cluster's Gateway is configuration and names its cluster itself.
  all.apply([gateway(15443), ...of("east", gateway(15443, 15444))]);
  const way = (port: number) => `Kubernetes/east ~ {"east":["192.0.2.2"]} ${port}`;
  assert.deepEqual(ways(), [way(15443), way(15444)]);
  all.apply(of("east", gateway(15444)));
  assert.deepEqual(ways(), [way(15444)]);
  all.apply(of("east", gone("Gateway", "eastwest")));
  assert.deepEqual(ways(), []);
});

const machine = (name: string, address: string, spec: object = {}) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "WorkloadEntry",
  metadata: { name, namespace: "n" },
  spec: { address, labels: { app: "a" }, serviceAccount: "sa", ...spec },
});

test("Services select WorkloadEntries of their own cluster, ServiceEntries those of all", () => {
  const all = new ClusterRegistries(defaultRegistrySettings);
  const selecting = service("a", { selector: { app: "a" } });
  all.apply([put(selecting), config("WorkloadEntry", "m", { address: "10.1.0.9", labels: { app: "a" } })]);
  all.apply(of("east", put(selecting), put(machine("m", "10.2.0.9"))));
  all.apply([entry({ workloadSelector: { labels: { app: "a" } } })]);
  assert.deepEqual(addressesOf(all, "Kubernetes/Kubernetes"), ["Kubernetes 10.1.0.9"]);
  assert.deepEqual(addressesOf(all, "Kubernetes/east"), ["east 10.2.0.9"]);
  assert.deepEqual(addressesOf(all, "External/Kubernetes"), ["Kubernetes 10.1.0.9"]);
  assert.deepEqual(addressesOf(all, "External/east"), ["east 10.2.0.9"]);

  all.apply(of("east", put(machine("m", "10.2.0.10"))));
  assert.deepEqual(addressesOf(all, "Kubernetes/east"), ["east 10.2.0.10"]);
  all.apply(of("east", gone("WorkloadEntry", "m")));
  assert.deepEqual(addressesOf(all, "Kubernetes/east"), []);
  assert.deepEqual(addressesOf(all, "External/east"), []);
});

test("a WorkloadEntry of another cluster counts while it is healthy, and has the network of its own spec", () => {
  const all = new ClusterRegistries(defaultRegistrySettings);
  const checked = (status: string) => ({
    ...machine("m", "10.2.0.9", { network: "net-2" }),
    metadata: { name: "m", namespace: "n", annotations: { "proxy.istio.io/health-checks-enabled": "true" } },
    status: { conditions: [{ type: "Healthy", status }] },
  });
  all.apply(of("east", put(service("a", { selector: { app: "a" } })), put(checked("False"))));
  assert.deepEqual(addressesOf(all, "Kubernetes/east"), []);
  all.apply(of("east", put(checked("True"))));
  const [endpoints] = all.state().filter(({ type }) => type === "endpoints");
  assert.ok(endpoints?.type === "endpoints" && endpoints.op === "put");
  assert.deepEqual(
    endpoints.value.map(({ network, serviceAccount }) => [network, serviceAccount]),
    [["net-2", "spiffe://cluster.local/ns/n/sa/sa"]],
  );
});

test("WorkloadEntries of the own cluster are configuration: objects of that kind are passed over there", () => {
  const all = new ClusterRegistries(defaultRegistrySettings);
  all.apply([put(service("a", { selector: { app: "a" } })), put(machine("m", "10.1.0.9"))]);
  assert.deepEqual(addressesOf(all, "Kubernetes/Kubernetes"), []);
});

const ambient = { ...defaultRegistrySettings, ambient: true };

function served(all: ClusterRegistries) {
  return all.state().flatMap((one) => (one.type === "service" && one.op === "put" ? [one] : []));
}

test("in the ambient mesh services of other clusters have what their namespaces decide, and its changes", () => {
  const home = (labels: object) =>
    put({ apiVersion: "v1", kind: "Namespace", metadata: { name: "n", labels: labels as Record<string, string> } });
  const system = put({
    ...{ apiVersion: "v1", kind: "Namespace" },
    metadata: { name: "istio-system", labels: { "topology.istio.io/network": "net-2" } },
  });
  const remotes = (all: ClusterRegistries) => served(all).map(({ key, value }) => [key.shard, value.remote]);
  const all = new ClusterRegistries(ambient);
  all.apply([put(service("a")), ...of("east", put(service("a")), put(pod("p", "10.2.0.1")))]);
  assert.deepEqual(remotes(all), [
    ["Kubernetes/Kubernetes", undefined],
    ["Kubernetes/east", { network: "" }],
  ]);
  all.apply(of("east", system, home({ scope: "global" })));
  assert.deepEqual(remotes(all)[1]?.[1], { network: "net-2", namespaceLabels: { scope: "global" } });
  all.apply(of("east", home({})));
  assert.deepEqual(remotes(all)[1]?.[1], { network: "net-2", namespaceLabels: {} });
  const workloads = all.state().flatMap((one) => (one.type === "workload" && one.op === "put" ? [one.value] : []));
  assert.deepEqual(
    workloads.map(({ clusterId, isRemote }) => [clusterId, isRemote]),
    [["east", true]],
  );
});

test("Gateways of other clusters that end the tunnels of ztunnels are ways into their networks", () => {
  const gateway = (more: { readonly class?: string; readonly mode?: string; readonly addresses?: readonly object[] }) =>
    put({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "east-west", namespace: "n", labels: { "topology.istio.io/network": "net-2" } },
      spec: {
        gatewayClassName: more.class ?? "istio-east-west",
        listeners: [{ port: 15012, protocol: "HBONE", tls: { mode: more.mode ?? "Terminate" } }],
      },
      status: { addresses: more.addresses ?? [{ value: "192.0.2.2" }, { type: "Hostname", value: "east.example" }] },
    });
  const all = new ClusterRegistries(ambient);
  const ways = () => served(all).flatMap(({ value }) => value.hboneGateway ?? []);
  all.apply([gateway({}), ...of("east", gateway({}))]);
  const account = { network: "net-2", serviceAccount: "east-west" };
  assert.deepEqual(ways(), [{ ...account, addresses: ["192.0.2.2", "east.example"] }]);
  for (const unfit of [
    { class: "istio" },
    { mode: "Passthrough" },
    { addresses: [] },
    { addresses: [{ value: "" }] },
  ]) {
    all.apply(of("east", gateway(unfit)));
    assert.deepEqual(ways(), [], JSON.stringify(unfit));
  }
  const sidecars = new ClusterRegistries(defaultRegistrySettings);
  sidecars.apply(of("east", gateway({})));
  assert.deepEqual(served(sidecars), []);
});

test("Gateways of other clusters with an address may be waypoints, in the network of their cluster", () => {
  const system = (network: string) =>
    put({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "istio-system", labels: { "topology.istio.io/network": network } },
    });
  const gateway = (addresses: readonly object[]) =>
    put({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "wp", namespace: "n", labels: { "istio.io/waypoint-for": "all", other: "x" } },
      spec: {
        gatewayClassName: "istio-waypoint",
        listeners: [{ name: "mesh", port: 15008, protocol: "HBONE", allowedRoutes: { namespaces: { from: "All" } } }],
      },
      status: { addresses },
    });
  const all = new ClusterRegistries(ambient);
  const waypoints = () => served(all).flatMap(({ value }) => value.waypoint ?? []);
  const address = { type: "Hostname", value: "wp.n.svc.cluster.local" };
  all.apply([gateway([address]), ...of("east", gateway([address]), system("net-2"))]);
  const { listeners, ...others } = waypoints()[0] ?? {};
  assert.deepEqual(listeners, [{ port: 15008, protocol: "HBONE", allowedRoutes: { namespaces: { from: "All" } } }]);
  assert.deepEqual(others, {
    ...{ network: "net-2", gatewayClass: "istio-waypoint", labels: { "istio.io/waypoint-for": "all" } },
    ...{ annotations: {}, addresses: [address] },
  });
  all.apply(of("east", system("net-3")));
  assert.equal(waypoints()[0]?.network, "net-3");
  all.apply(of("east", gateway([])));
  assert.deepEqual(waypoints(), []);
});

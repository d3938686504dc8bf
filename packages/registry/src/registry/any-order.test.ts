/**
 * Registries and clusters are merged by what their objects are now: whatever came before, in any order of keys and any batches, the
 * merged state is that of registries that start with the last values, and the changes published on the way lead to it.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { checkProperty, fc } from "@flotilla/testkit";
import type { ConsulInstance } from "../consul.ts";
import { defaultRegistrySettings } from "../settings.ts";
import { ClusterRegistries } from "./clusters.ts";
import type { RegistryChange } from "./published.ts";
import type { RegistryInput } from "./registry-input.ts";
import { config, gone, keyOf, node, pod, put, service, slice, sorted } from "./sample-objects.fixture.ts";

/** Values that a key may have; undefined: it is gone, or was never there. */
type Variants = readonly (() => RegistryInput)[];

const settings = { ...defaultRegistrySettings, clusterSetHosts: true };
const clusters = [settings.clusterId, "east", "west"];
const app = (name: string) => ({ app: name });
const deleted = (kind: string, name: string): RegistryInput => {
  return { type: "config", op: "delete", key: { kind, namespace: "n", name } };
};

/** Objects of a cluster's API server. */
function ofCluster(cluster: string, index: number): ReadonlyMap<string, Variants> {
  const address = (last: number) => `10.${index + 1}.0.${last}`;
  const names = ["a", "b"];
  const imported = (...ips: readonly string[]) =>
    put({
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ServiceImport",
      metadata: { name: "a", namespace: "n" },
      spec: { type: "ClusterSetIP", ips },
    });
  const namespace = (network: string) =>
    put({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "istio-system", labels: { "topology.istio.io/network": network } },
    });
  const own: readonly (readonly [string, Variants])[] = [
    ...names.map((name, at): readonly [string, Variants] => [
      `Service ${name}`,
      [
        () => gone("Service", name),
        () => put(service(name, { clusterIP: `10.96.${index}.${at + 1}` })),
        () => put(service(name, { clusterIP: "None", selector: app("a") })),
      ],
    ]),
    ...names.map((name, at): readonly [string, Variants] => [
      `Pod ${name}`,
      [
        () => gone("Pod", name),
        () => put(pod(name, address(at + 1), app(name), "n1")),
        () => put(pod(name, address(at + 1), app("b"), "n2")),
      ],
    ]),
    ...names.map((name): readonly [string, Variants] => [
      `EndpointSlice ${name}`,
      [
        () => gone("EndpointSlice", name),
        () => put(slice(name, name, { a: address(1), b: address(2) })),
        () => put(slice(name, "a", { b: address(2) }, false)),
      ],
    ]),
    ["Node n1", [() => gone("Node", "n1", ""), () => put(node("n1", "r1")), () => put(node("n1", "r2"))]],
    [
      "Namespace istio-system",
      [() => gone("Namespace", "istio-system", ""), () => namespace("x"), () => namespace("y")],
    ],
    ["ServiceImport a", [() => gone("ServiceImport", "a"), () => imported(`242.${index}.0.1`)]],
  ];
  const within = (make: () => RegistryInput) => (): RegistryInput => {
    const input = make();
    return input.type === "object" ? { ...input, cluster } : input;
  };
  return new Map(own.map(([key, variants]) => [`${cluster} ${key}`, variants.map(within)]));
}

function entry(name: string, host: string, more: object): RegistryInput {
  const spec = {
    hosts: [host],
    resolution: "STATIC",
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    ...more,
  };
  return config("ServiceEntry", name, spec);
}

const elsewhere = { endpoints: [{ address: "192.0.2.7" }] };

function instance(id: string, more: Partial<ConsulInstance> = {}): ConsulInstance {
  const none = { tags: [], meta: {}, taggedAddresses: {}, checks: [] };
  const place = {
    node: "n1",
    nodeAddress: "10.8.0.1",
    datacenter: "dc1",
    address: "",
    locality: { region: "", zone: "" },
  };
  return { ...none, ...place, id, port: 9080, weights: { passing: 1, warning: 1 }, ...more };
}

const consulKey = { datacenter: "dc1", partition: "", namespace: "", name: "a" };
const identities = ["spiffe://cluster.local/ns/n/sa/vm"];
const machine = { key: { namespace: "n", group: "vms", network: "", instance: "m1" }, identities };
const connected = { ...machine, address: "10.9.0.1", locality: "", labels: app("b"), connectedAtMs: 1_000 };
const filed = (...services: readonly object[]) => ({ type: "file", services }) as const;

/** Configuration, Consul, a registry file and a machine: they belong to the mesh, not to a cluster. */
const ofMesh: ReadonlyMap<string, Variants> = new Map<string, Variants>([
  ...["x", "y"].map((name): readonly [string, Variants] => [
    `ServiceEntry ${name}`,
    [
      () => deleted("ServiceEntry", name),
      () => entry(name, "x.example", name === "x" ? { workloadSelector: { labels: app("a") } } : elsewhere),
      () => entry(name, `${name}.example`, { ...elsewhere, addresses: ["192.0.2.70"] }),
      () => entry(name, "a.n.svc.cluster.local", { workloadSelector: { labels: app("b") }, resolution: "DNS" }),
    ],
  ]),
  [
    "WorkloadEntry w",
    [
      () => deleted("WorkloadEntry", "w"),
      () => config("WorkloadEntry", "w", { address: "192.0.2.1", labels: app("a") }),
      () => config("WorkloadEntry", "w", { address: "192.0.2.2", labels: app("b"), network: "x" }),
    ],
  ],
  [
    "WorkloadGroup vms",
    [
      () => deleted("WorkloadGroup", "vms"),
      () => config("WorkloadGroup", "vms", { template: { serviceAccount: "vm", labels: app("a") } }),
    ],
  ],
  [
    "machine m1",
    [() => ({ type: "machine", op: "delete", machine }), () => ({ type: "machine", op: "put", machine: connected })],
  ],
  [
    "consul a",
    [
      () => ({ type: "consul", op: "delete", key: consulKey }),
      () => ({ type: "consul", op: "put", key: consulKey, instances: [instance("1")] }),
      () => ({ type: "consul", op: "put", key: consulKey, instances: [instance("1", { port: 1 }), instance("2")] }),
    ],
  ],
  [
    "file",
    [
      () => filed(),
      () =>
        filed({
          host: "x.example",
          namespace: "n",
          ports: [{ name: "http", number: 80 }],
          endpoints: [{ address: "192.0.2.9" }],
        }),
    ],
  ],
  [
    "MeshConfig",
    [
      () => config("MeshConfig", "mesh", {}),
      () => config("MeshConfig", "mesh", { trustDomain: "td" }),
      () => config("MeshConfig", "mesh", { discoverySelectors: [{ matchLabels: { none: "has it" } }] }),
    ],
  ],
  [
    "MeshNetworks",
    [
      () => config("MeshNetworks", "networks", {}),
      () => config("MeshNetworks", "networks", { networks: { z: { endpoints: [{ fromRegistry: "east" }] } } }),
    ],
  ],
]);

const all = new Map([...clusters.flatMap((cluster, index) => [...ofCluster(cluster, index)]), ...ofMesh]);

type Event = { readonly key: string; readonly variant: number } | { readonly gone: string };

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ key: fc.constantFrom(...all.keys()), variant: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ gone: fc.constantFrom(...clusters.slice(1)) }) },
);

function inputOf(one: Event): RegistryInput {
  if ("gone" in one) return { type: "cluster", op: "delete", cluster: one.gone };
  const variants = all.get(one.key) ?? [];
  const make = variants[one.variant % variants.length];
  if (make === undefined) throw new Error(`${one.key} has no values`);
  return make();
}

/** Of each key the last event, in the order in which `sort` has them; a cluster that went left nothing. */
function lastOf(events: readonly Event[]): readonly Event[] {
  const last = new Map<string, Event>();
  for (const one of events) {
    if ("key" in one) last.set(one.key, one);
    else for (const key of [...last.keys()]) if (key.startsWith(`${one.gone} `)) last.delete(key);
  }
  return [...last].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

function checkMerge(batches: readonly (readonly Event[])[]): void {
  const merged = new ClusterRegistries(settings);
  const published = new Map<string, RegistryChange>();
  for (const batch of batches)
    for (const change of merged.apply(batch.map(inputOf)).changes) published.set(keyOf(change), change);
  const fresh = new ClusterRegistries(settings);
  fresh.apply(lastOf(batches.flat()).map(inputOf));
  const expected = sorted(fresh.state());
  assert.deepEqual(sorted(merged.state()), expected, "the merged state");
  assert.deepEqual(sorted([...published.values()].filter(({ op }) => op === "put")), expected, "the changes published");
  assert.deepEqual(merged.machineRecords(), fresh.machineRecords(), "the records of machines");
}

it("registries and clusters end in the state of their last values, whatever the order of events", () => {
  checkProperty(fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { maxLength: 40, size: "max" }), checkMerge, {
    runs: 250,
  });
});

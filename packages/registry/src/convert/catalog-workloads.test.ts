import assert from "node:assert/strict";
import { test } from "node:test";
import type { Workload } from "@flotilla/model";
import type { ConsulInstance, ConsulServiceKey } from "../consul.ts";
import type { FileChange } from "../file/file-service.ts";
import type { RegistryChange } from "../registry/published.ts";
import { Registry } from "../registry/registry.ts";
import type { RegistryInput } from "../registry/registry-input.ts";
import { put } from "../registry/sample-objects.fixture.ts";
import { parseRegistrySettings } from "../settings.ts";

const reviews: ConsulServiceKey = { datacenter: "dc1", partition: "", namespace: "", name: "reviews" };

function instance(id: string, over: Partial<ConsulInstance> = {}): ConsulInstance {
  return {
    ...{ node: "n1", nodeAddress: "10.0.0.1", datacenter: "dc1", id, address: "10.9.0.1", port: 9080 },
    ...{ tags: [], meta: {}, taggedAddresses: {}, weights: { passing: 1, warning: 1 } },
    ...{ locality: { region: "", zone: "" }, checks: [] },
    ...over,
  };
}

function consul(instances: readonly ConsulInstance[], key = reviews): RegistryInput {
  return { type: "consul", op: "put", key, instances };
}

function file(...services: readonly unknown[]): FileChange {
  return { type: "file", services };
}

const ledger = {
  host: "ledger.bank.example",
  namespace: "bank",
  ports: [{ name: "http", number: 80, protocol: "HTTP", targetPort: 8080 }],
  endpoints: [
    { address: "192.0.2.1", labels: { app: "ledger" }, locality: "eu/eu-1", weight: 2, serviceAccount: "ledger" },
    { address: "192.0.2.2", ports: { http: 8081 }, health: "unhealthy" },
  ],
};

function ambient(): Registry {
  return new Registry(parseRegistrySettings({ PILOT_ENABLE_AMBIENT: "true" }));
}

/** `shard uid`, with `-` before those that are gone. */
function names(changes: readonly RegistryChange[]): readonly string[] {
  return changes.flatMap(({ type, op, key }) =>
    type === "workload" && "uid" in key ? [`${op === "put" ? "" : "-"}${key.shard} ${key.uid}`] : [],
  );
}

function values(changes: readonly RegistryChange[]): readonly Workload[] {
  return changes.flatMap((change) => (change.type === "workload" && change.op === "put" ? [change.value] : []));
}

test("workloads of Consul and of the registry file are published only where the mesh is ambient", () => {
  const registry = new Registry(parseRegistrySettings({}));
  assert.deepEqual(names(registry.apply([consul([instance("a")]), file(ledger)]).changes), []);
});

test("an instance of Consul is a workload of its datacenter, named by node and id, until it is deregistered", () => {
  const registry = ambient();
  const uid = (id: string) => `Consul/dc1 Kubernetes/Consul/ConsulInstance/default/reviews/dc1/n1/${id}`;
  const both = [instance("b", { port: 9081 }), instance("a")];
  assert.deepEqual(names(registry.apply([consul(both)]).changes), [uid("a"), uid("b")]);
  assert.deepEqual(names(registry.apply([consul(both.toReversed())]).changes), []);
  assert.deepEqual(names(registry.apply([consul([instance("a")])]).changes), [`-${uid("b")}`]);
  assert.deepEqual(names(registry.apply([{ type: "consul", op: "delete", key: reviews }]).changes), [`-${uid("a")}`]);
});

test("an instance has the traits that Consul declares, and serves its own port under each host of its service", () => {
  const declared = instance("a", {
    ...{ tags: ["version|v1"], meta: { protocol: "http" }, weights: { passing: 3, warning: 1 } },
    locality: { region: "eu", zone: "eu-1" },
  });
  const [one] = values(ambient().apply([consul([declared, instance("b", { port: 9081 })])]).changes);
  const ports = [{ servicePort: 9080, targetPort: 9080 }];
  assert.deepEqual(one, {
    ...{ kind: "ConsulInstance", name: "reviews", namespace: "default", workloadName: "reviews", nodeName: "n1" },
    ...{
      addresses: ["10.9.0.1"],
      labels: { version: "v1" },
      network: "",
      locality: "eu/eu-1",
      clusterId: "Kubernetes",
    },
    ...{ serviceAccount: "default", isReady: true, tunnel: "none", capacity: 3, ports: {} },
    memberOf: ["reviews.service.consul", "reviews.service.dc1.consul"].map((hostname) => ({
      ...{ namespace: "default", hostname, ports },
    })),
  });
});

const traits: readonly (readonly [string, Partial<ConsulInstance>, Partial<Workload>])[] = [
  ["a critical check makes a workload unhealthy", { checks: ["critical"] }, { isReady: false }],
  ["a tag declares that it takes HBONE itself", { tags: ["networking.istio.io/tunnel|http"] }, { tunnel: "native" }],
  ["meta data declares its network", { meta: { "topology.istio.io/network": "far" } }, { network: "far" }],
  [
    "without an address of its own it has that of its node, as others may",
    { address: "" },
    { addresses: ["10.0.0.1"], hostNetwork: true },
  ],
  ["a name is resolved", { address: "vm.example" }, { addresses: [], hostname: "vm.example" }],
];
for (const [name, over, expected] of traits) {
  test(`of an instance of Consul: ${name}`, () => {
    const [found] = values(ambient().apply([consul([instance("a", over)])]).changes);
    const picked = Object.fromEntries(Object.keys(expected).map((field) => [field, found?.[field as keyof Workload]]));
    assert.deepEqual(picked, expected);
  });
}

test("instances without a port or an address are no workloads, and datacenters are apart", () => {
  const registry = ambient();
  const wrong = [instance("a", { port: 0 }), instance("b", { address: "", nodeAddress: "" }), instance("c")];
  registry.apply([consul(wrong), consul([instance("c")], { ...reviews, datacenter: "dc2" })]);
  assert.deepEqual(
    names(registry.state()),
    ["dc1", "dc2"].map((dc) => `Consul/${dc} Kubernetes/Consul/ConsulInstance/default/reviews/${dc}/n1/c`),
  );
});

test("endpoints of the registry file are workloads with the traits of a ServiceEntry's, and the file's health", () => {
  const registry = ambient();
  const { changes } = registry.apply([file(ledger)]);
  const uid = (address: string) => `File/Kubernetes Kubernetes/File/FileEndpoint/bank/ledger.bank.example/${address}`;
  assert.deepEqual(names(changes), [uid("192.0.2.1"), uid("192.0.2.2")]);
  const seen = values(changes).map(
    ({ kind, serviceAccount, locality, capacity, isReady, bindingLabels, memberOf }) => ({
      ...{ kind, serviceAccount, locality, capacity, isReady, bindingLabels },
      port: memberOf?.map(({ namespace, hostname, ports }) => `${namespace}/${hostname}:${ports[0]?.targetPort}`),
    }),
  );
  const of = { kind: "FileEndpoint" };
  assert.deepEqual(seen, [
    {
      ...{ ...of, serviceAccount: "ledger", locality: "eu/eu-1", capacity: 2, isReady: true },
      ...{ bindingLabels: { app: "ledger" }, port: ["bank/ledger.bank.example:8080"] },
    },
    {
      ...{ ...of, serviceAccount: "", locality: "", capacity: undefined, isReady: false, bindingLabels: undefined },
      port: ["bank/ledger.bank.example:8081"],
    },
  ]);
  const fewer = file({ ...ledger, endpoints: ledger.endpoints.slice(0, 1) });
  assert.deepEqual(names(registry.apply([fewer]).changes), [`-${uid("192.0.2.2")}`]);
  assert.deepEqual(names(registry.apply([file()]).changes), [`-${uid("192.0.2.1")}`]);
});

test("the network of the cluster becomes that of Consul's and the file's workloads as it is declared", () => {
  const registry = ambient();
  registry.apply([consul([instance("a")]), file(ledger)]);
  const namespace = {
    ...{ apiVersion: "v1", kind: "Namespace" },
    metadata: { name: "istio-system", labels: { "topology.istio.io/network": "own" } },
  };
  const { changes } = registry.apply([put(namespace)]);
  assert.deepEqual(
    values(changes).map(({ network }) => network),
    ["own", "own", "own"],
  );
});

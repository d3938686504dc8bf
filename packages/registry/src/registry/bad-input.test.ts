/** A problem with one object is reported for it, with its field, and the objects beside it go on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@flotilla/model";
import type { ConsulInstance } from "../consul.ts";
import type { RegistryInput } from "./registry-input.ts";
import { config, pod, put, registry, service, slice } from "./sample-objects.fixture.ts";

const good: readonly RegistryInput[] = [
  put(service("good")),
  put(pod("p", "10.1.0.1")),
  put(slice("good-1", "good", { p: "10.1.0.1" })),
];

const http = { number: 80, name: "http", protocol: "HTTP" };
const tcp = { number: 80, name: "tcp", protocol: "TCP" };
function entry(name: string, spec: object): RegistryInput {
  return config("ServiceEntry", name, { hosts: [`${name}.example`], ports: [http], ...spec });
}
function consul(id: string, over: Partial<ConsulInstance>): RegistryInput {
  const instance: ConsulInstance = {
    node: "n",
    nodeAddress: "10.0.0.1",
    datacenter: "dc1",
    id,
    address: "",
    port: 80,
    tags: [],
    meta: {},
    taggedAddresses: {},
    weights: { passing: 1, warning: 1 },
    locality: { region: "", zone: "" },
    checks: [],
    ...over,
  };
  const key = { datacenter: "dc1", partition: "", namespace: "", name: "reviews" };
  return { type: "consul", op: "put", key, instances: [instance] };
}
const nowhere: KubeObject = { ...pod("lost", ""), status: { phase: "Running" } };

const cases: readonly { readonly name: string; readonly inputs: readonly RegistryInput[]; readonly says: string }[] = [
  {
    name: "a Service with an invalid port",
    inputs: [put(service("bad", { clusterIP: "10.0.0.2", ports: [{ name: "http", port: 70_000 }] }))],
    says: "Service/n/bad spec.ports[0]: 70000 is no port: must be 1 to 65535",
  },
  {
    name: "a Service with a target that is no port",
    inputs: [
      put(service("bad", { clusterIP: "10.0.0.2", ports: [{ name: "http", port: 80, targetPort: 2 ** 31 - 1 }] })),
    ],
    says: "Service/n/bad spec.ports[0].targetPort: 2147483647 is no port: must be 1 to 65535",
  },
  {
    name: "a Service whose node port is none",
    inputs: [put(service("bad", { clusterIP: "10.0.0.2", ports: [{ port: 80, nodePort: -1 }] }))],
    says: "Service/n/bad spec.ports[0].nodePort: -1 is no port: must be 1 to 65535",
  },
  {
    name: "a Service whose address is none",
    inputs: [put(service("bad", { clusterIP: "10.0.0" }))],
    says: 'Service/n/bad spec.clusterIP: "10.0.0" is no address',
  },
  {
    name: "a Service with an external address that is none",
    inputs: [put(service("bad", { clusterIP: "10.0.0.2", externalIPs: ["1.1.1.1", "edge"] }))],
    says: 'Service/n/bad spec.externalIPs[1]: "edge" is no address',
  },
  {
    name: "an EndpointSlice with a port that is none",
    inputs: [put({ ...slice("good-2", "good", {}), ports: [{ name: "http", port: 70_000 }] } as KubeObject)],
    says: "EndpointSlice/n/good-2 ports[0]: 70000 is no port: must be 1 to 65535",
  },
  {
    name: "an EndpointSlice with an address that is none",
    inputs: [put({ ...slice("good-2", "good", {}), endpoints: [{ addresses: ["10.1.0.300"] }] } as KubeObject)],
    says: 'EndpointSlice/n/good-2 endpoints[0].addresses[0]: "10.1.0.300" is no address',
  },
  {
    name: "a Pod whose address is none",
    inputs: [put({ ...nowhere, status: { phase: "Running", podIPs: [{ ip: "10.1.0.x" }] } } as KubeObject)],
    says: 'Pod/n/lost status.podIPs[0]: "10.1.0.x" is no address',
  },
  {
    name: "a ServiceEntry of a form that no schema allows",
    inputs: [entry("bad", { hosts: 5 })],
    says: "ServiceEntry/n/bad : what depends on it cannot be computed: spec.hosts is no list",
  },
  {
    name: "a ServiceEntry with an invalid port",
    inputs: [entry("bad", { ports: [{ ...http, number: 0 }] })],
    says: "ServiceEntry/n/bad spec.ports[0]: 0 is no port: must be 1 to 65535",
  },
  {
    name: "an EndpointSlice without its Service",
    inputs: [put(slice("lone", "gone", {}))],
    says: "EndpointSlice/n/lone metadata.labels: there is no Service n/gone",
  },
  {
    name: "a Pod without IP",
    inputs: [put(nowhere)],
    says: "Pod/n/lost status.podIP: is empty, and the pod is running",
  },
  {
    name: "a Consul instance of no protocol",
    inputs: [consul("r1", { meta: { protocol: "carrier-pigeon" } })],
    says: 'Consul/dc1/reviews/r1 Service.Meta[protocol]: "carrier-pigeon" is no protocol: the port is carried as TCP',
  },
  {
    name: "a Consul instance without address",
    inputs: [consul("r1", { nodeAddress: "" })],
    says: "Consul/dc1/reviews/r1 Service.Address: is empty, and the node has none: the instance is left out",
  },
  {
    name: "two Services with one address",
    inputs: [put(service("other"))],
    says: "Service/n/other spec.clusterIP: 10.0.0.1 belongs to Service/n/good already",
  },
  {
    name: "a ServiceEntry with the address of a Service",
    inputs: [entry("bad", { addresses: ["10.0.0.1"] })],
    says: "ServiceEntry/n/bad spec.addresses: 10.0.0.1 belongs to Service/n/good already",
  },
  {
    name: "two ServiceEntries that cannot be distinguished at one address",
    inputs: [
      entry("a", { addresses: ["10.7.0.1"], ports: [tcp] }),
      entry("b", { addresses: ["10.7.0.1/32"], ports: [tcp] }),
    ],
    says: "ServiceEntry/n/b spec.addresses: port 80 of 10.7.0.1 belongs to ServiceEntry/n/a already",
  },
  {
    name: "two ServiceEntries with one host",
    inputs: [entry("a", {}), entry("b", { hosts: ["a.example"] })],
    says: "ServiceEntry/n/b spec.hosts: port 80 of a.example belongs to ServiceEntry/n/a already",
  },
  {
    name: "a ServiceEntry with the host of a Service",
    inputs: [entry("bad", { hosts: ["good.n.svc.cluster.local"] })],
    says: "ServiceEntry/n/bad spec.hosts: port 80 of good.n.svc.cluster.local belongs to Service/n/good already",
  },
  {
    name: "an unreachable WorkloadEntry",
    inputs: [config("WorkloadEntry", "bad", {})],
    says: "WorkloadEntry/n/bad spec.address: is empty, and there is no network through which it could be reached",
  },
];

for (const { name, inputs, says } of cases) {
  test(`${name} is reported of, and the others go on`, () => {
    const one = registry();
    one.apply([...good, ...inputs]);
    const reported = one.problems().map(({ object, field, reason }) => `${object} ${field}: ${reason}`);
    assert.deepEqual(reported, [says]);
    const endpoints = one.state().find(({ type, key }) => type === "endpoints" && key.hostname.startsWith("good."));
    assert.ok(endpoints?.type === "endpoints" && endpoints.op === "put");
    assert.ok(endpoints.value.some(({ addresses }) => addresses[0] === "10.1.0.1"));
  });
}

const fine: readonly (readonly [string, readonly RegistryInput[]])[] = [
  ["HTTP hosts of one address", [entry("a", { addresses: ["10.7.0.1"] }), entry("b", { addresses: ["10.7.0.1"] })]],
  [
    "ports of one address",
    [
      entry("a", { addresses: ["10.7.0.1"], ports: [tcp] }),
      entry("b", { addresses: ["10.7.0.1"], ports: [{ ...tcp, number: 81 }] }),
    ],
  ],
  ["ports of one host", [entry("a", {}), entry("b", { hosts: ["a.example"], ports: [{ ...http, number: 81 }] })]],
];

for (const [name, inputs] of fine) {
  test(`several ServiceEntries for ${name} are as they should be`, () => {
    const one = registry();
    one.apply(inputs);
    assert.deepEqual(one.problems(), []);
  });
}

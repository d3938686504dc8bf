import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Config, parseProtocol, type Service } from "@flotilla/model";
import { networkRange } from "./facts.ts";
import { entryTraits, type ServiceContext, serviceFacts } from "./service.ts";
import type { Waypoint } from "./waypoint.ts";

function aService(more: Partial<Service> = {}): Service {
  return {
    ...{ hostname: "a.shop.svc.cluster.local", namespace: "shop", name: "a", registry: "Kubernetes" },
    ...{ ports: [{ name: "http", number: 80, protocol: parseProtocol("HTTP") }], resolution: "client-side" },
    ...{ meshExternal: false, defaultAddress: "0.0.0.0", clusterVips: {}, creationTimeMs: 0, labels: {}, exportTo: [] },
    ...{ serviceAccounts: [], definedBy: "Service/shop/a" },
    ...more,
  };
}

const context: ServiceContext = {
  ...{ network: "n", binding: {}, ingressUsesWaypoint: false, isCanonical: true, namespaceOnly: false },
};
const facts = (service: Partial<Service>, more: Partial<ServiceContext> = {}) =>
  serviceFacts(aService(service), { ...context, ...more });
const external = (more: Partial<Service>) => ({ registry: "External" as const, ...more });
const noTraits = { targetPorts: new Map<number, number>(), statusAddresses: [] };

const addressCases: readonly {
  readonly name: string;
  readonly service: Partial<Service>;
  readonly statusAddresses?: readonly string[];
  readonly expected: readonly string[];
}[] = [
  {
    name: "those of all clusters, each once",
    service: { clusterVips: { one: ["10.96.0.1", "fd00::1"], two: ["10.97.0.1", "10.96.0.1"] } },
    expected: ["10.96.0.1", "fd00::1", "10.97.0.1"],
  },
  { name: "none of a headless one", service: { clusterVips: { one: ["0.0.0.0"], two: ["::"] } }, expected: [] },
  { name: "those that a ServiceEntry names", service: external({ addresses: ["192.0.2.1"] }), expected: ["192.0.2.1"] },
  { name: "a range of a ServiceEntry", service: external({ addresses: ["192.0.2.9/24"] }), expected: ["192.0.2.0/24"] },
  {
    name: "what a controller gave a ServiceEntry without any",
    service: external({ autoAllocatedIpv4: "240.240.0.1" }),
    statusAddresses: ["192.0.2.7"],
    expected: ["192.0.2.7"],
  },
  {
    name: "what was allocated for a ServiceEntry without any",
    service: external({ autoAllocatedIpv4: "240.240.0.1", autoAllocatedIpv6: "2001:2::1" }),
    expected: ["240.240.0.1", "2001:2::1"],
  },
  {
    name: "none allocated for a ServiceEntry that passes connections on",
    service: external({ resolution: "passthrough", autoAllocatedIpv4: "240.240.0.1" }),
    expected: [],
  },
];

describe("the addresses of a service", () => {
  for (const { name, service, statusAddresses = [], expected } of addressCases)
    test(name, () => {
      const entry = service.registry === "External" ? { entry: { ...noTraits, statusAddresses } } : {};
      const { addresses } = facts(service, entry);
      assert.ok(addresses.every(({ network }) => network === "n"));
      assert.deepEqual(
        addresses.map(({ address, length }) => (length === undefined ? address : `${address}/${length}`)),
        expected,
      );
    });

  const ranges = [
    { text: "10.1.2.3", expected: [{ network: "n", address: "10.1.2.3" }] },
    { text: "10.1.2.3/32", expected: [{ network: "n", address: "10.1.2.3" }] },
    { text: "10.1.2.3/31", expected: [{ network: "n", address: "10.1.2.2", length: 31 }] },
    { text: "10.1.2.3/0", expected: [{ network: "n", address: "0.0.0.0", length: 0 }] },
    { text: "fd00::1/128", expected: [{ network: "n", address: "fd00::1" }] },
    { text: "fd00::1/32", expected: [{ network: "n", address: "fd00::", length: 32 }] },
    { text: "shop.example", expected: [] },
  ];
  for (const { text, expected } of ranges)
    test(`${text} as a range`, () => assert.deepEqual(networkRange(text, "n"), expected));
});

describe("the ports of a service", () => {
  const ports = (service: Partial<Service>, targetPorts: ReadonlyMap<number, number> = new Map()) =>
    facts(service, service.registry === "External" ? { entry: { ...noTraits, targetPorts } } : {}).ports.map(
      ({ number, target, targetName }) => ({ number, target, targetName }),
    );
  const kubernetes = (targetPorts: Readonly<Record<string, string>>) =>
    ({ kubernetes: { targetPorts } }) as unknown as Partial<Service>;
  const none = { number: 80, target: undefined, targetName: undefined };

  test("lead to a number of the pods", () =>
    assert.deepEqual(ports(kubernetes({ 80: "8080" })), [{ ...none, target: 8080 }]));
  test("lead to a name that each pod gives a number", () =>
    assert.deepEqual(ports(kubernetes({ 80: "web" })), [{ ...none, targetName: "web" }]));
  test("lead nowhere that is known", () => assert.deepEqual(ports(kubernetes({ 81: "web" })), [none]));
  test("of a ServiceEntry lead to the same number", () =>
    assert.deepEqual(ports(external({})), [{ ...none, target: 80 }]));
  test("of a ServiceEntry lead to its target port", () =>
    assert.deepEqual(ports(external({}), new Map([[80, 9080]])), [{ ...none, target: 9080 }]));
  test("of a ServiceEntry that passes connections on lead to the target port of its own", () =>
    assert.deepEqual(ports(external({ passthroughTargetPorts: { 80: 7080 } })), [{ ...none, target: 7080 }]));
});

describe("the traffic of a service", () => {
  const cases = [
    { name: "goes to any endpoint", service: {}, expected: undefined },
    {
      name: "stays on the node",
      service: { kubernetes: { nodeLocal: true } },
      expected: { mode: "STRICT", scopes: ["NODE"], allowsUnhealthy: false },
    },
    {
      name: "prefers its zone",
      service: { trafficDistribution: "PreferClose" },
      expected: { mode: "FAILOVER", scopes: ["NETWORK", "REGION", "ZONE"], allowsUnhealthy: false },
    },
    {
      name: "prefers its node",
      service: { trafficDistribution: "PreferSameNode" },
      expected: { mode: "FAILOVER", scopes: ["NETWORK", "REGION", "ZONE", "SUBZONE", "NODE"], allowsUnhealthy: false },
    },
    {
      name: "goes to endpoints that are not ready, too",
      service: { kubernetes: { publishNotReadyAddresses: true } },
      expected: { mode: "UNSPECIFIED_MODE", scopes: [], allowsUnhealthy: true },
    },
    {
      name: "passes through",
      service: external({ resolution: "passthrough" }),
      expected: { mode: "PASSTHROUGH", scopes: [], allowsUnhealthy: true },
    },
    { name: "of a Service passes through as any", service: { resolution: "passthrough" }, expected: undefined },
  ];
  for (const { name, service, expected } of cases)
    test(name, () => assert.deepEqual(facts(service as Partial<Service>).loadBalancing, expected));
});

describe("a service", () => {
  const aWaypoint = (name: string): Waypoint => ({
    ...{ namespace: "shop", name, destination: { namespace: "shop", hostname: name }, port: 15008 },
    ...{ traffic: "all", attachment: { from: "Same" } },
  });
  const gateway = (hostname: string) => ({ destination: { namespace: "shop", hostname }, port: 15008 });

  test("names its kind, and the accounts of a ServiceEntry", () => {
    const serviceAccounts = ["spiffe://a"];
    const { kind, subjectAltNames } = facts({ serviceAccounts });
    assert.deepEqual([kind, subjectAltNames], ["Service", []]);
    const entry = facts(external({ serviceAccounts }));
    assert.deepEqual([entry.kind, entry.subjectAltNames], ["ServiceEntry", serviceAccounts]);
  });

  test("has the labels that it selects, unless it selects nothing", () => {
    assert.deepEqual(facts({ labelSelectors: { app: "a" } }).selector, { app: "a" });
    assert.equal("selector" in facts({ labelSelectors: {} }), false);
    assert.equal("selector" in facts({}), false);
  });

  test("has its waypoint, and two with their shares while one replaces the other", () => {
    assert.equal("waypoint" in facts({}), false);
    assert.deepEqual(facts({}, { binding: { waypoint: aWaypoint("w") } }).waypoint, gateway("w"));
    const canary = { waypoint: aWaypoint("next"), weight: 30 };
    const { waypoint, weightedWaypoints } = facts({}, { binding: { waypoint: aWaypoint("w"), canary } });
    assert.deepEqual(waypoint, gateway("w"));
    assert.deepEqual(weightedWaypoints, [
      { ...gateway("w"), weight: 70 },
      { ...gateway("next"), weight: 30 },
    ]);
  });
});

describe("of a ServiceEntry ztunnels are sent", () => {
  const anEntry = (more: object): Config<object> => ({
    key: { kind: "ServiceEntry", namespace: "shop", name: "a" },
    ...{ labels: {}, annotations: {}, creationTimeMs: 0, spec: {} },
    ...more,
  });
  test("ports that lead to another one", () => {
    const spec = { ports: [{ number: 80, targetPort: 8080 }, { number: 81 }, { number: 82, targetPort: 0 }] };
    assert.deepEqual([...entryTraits(anEntry({ spec }), "a.example").targetPorts], [[80, 8080]]);
  });

  const status = {
    addresses: [
      { host: "a.example", value: "240.240.0.1" },
      { host: "b.example", value: "240.240.0.2" },
      { host: "a.example", value: "nonsense" },
    ],
  };
  test("the addresses that a controller gave the host", () => {
    assert.deepEqual(entryTraits(anEntry({ status }), "a.example").statusAddresses, ["240.240.0.1"]);
  });
  test("no such addresses where the object refuses them", () => {
    const labels = { "networking.istio.io/enable-autoallocate-ip": "false" };
    assert.deepEqual(entryTraits(anEntry({ status, labels }), "a.example").statusAddresses, []);
  });
});

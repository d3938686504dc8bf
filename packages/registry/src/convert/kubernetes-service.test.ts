import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service } from "@flotilla/model";
import type { KubeNode, KubeService } from "../kube.ts";
import { convertKubernetesService, type PortTraits, portProtocol, type ServiceContext } from "./kubernetes-service.ts";

const context: ServiceContext = { domain: "cluster.local", clusterId: "c1", trustDomain: "td" };

function service(
  spec: KubeService["spec"],
  annotations: Readonly<Record<string, string>> = {},
  status: KubeService["status"] = {},
): KubeService {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s", namespace: "n", annotations },
    ...(spec === undefined ? {} : { spec }),
    status,
  };
}

const node: KubeNode = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1", labels: { role: "edge" } },
  status: {
    addresses: [
      { type: "InternalIP", address: "10.0.0.1" },
      { type: "ExternalIP", address: "203.0.113.1" },
    ],
  },
};

const cases: readonly (readonly [string, KubeService, Partial<Service>, Partial<ServiceContext>?])[] = [
  [
    "an ordinary one",
    service({ clusterIP: "10.0.0.9", ports: [{ name: "http", port: 80, targetPort: "web" }], selector: { app: "s" } }),
    {
      hostname: "s.n.svc.cluster.local",
      resolution: "client-side",
      defaultAddress: "10.0.0.9",
      clusterVips: { c1: ["10.0.0.9"] },
      ports: [{ name: "http", number: 80, protocol: "HTTP" }],
      labelSelectors: { app: "s" },
      meshExternal: false,
    },
  ],
  [
    "two stacks",
    service({ clusterIP: "10.0.0.9", clusterIPs: ["10.0.0.9", "fd00::9"] }),
    { clusterVips: { c1: ["10.0.0.9", "fd00::9"] } },
  ],
  ["headless", service({ clusterIP: "None" }), { resolution: "passthrough", defaultAddress: "0.0.0.0" }],
  [
    "an alias",
    service({ type: "ExternalName", externalName: "x.example" }),
    { resolution: "alias", meshExternal: true, defaultAddress: "0.0.0.0" },
  ],
  ["an alias of nothing", service({ type: "ExternalName" }), { resolution: "client-side", meshExternal: false }],
  ["exported to some", service({}, { "networking.istio.io/exportTo": "b, a,b" }), { exportTo: ["a", "b"] }],
  [
    "with identities by annotation",
    service({}, { "alpha.istio.io/canonical-serviceaccounts": "x", "alpha.istio.io/kubernetes-serviceaccounts": "sa" }),
    { serviceAccounts: ["x", "spiffe://td/ns/n/sa/sa"] },
  ],
  ["an empty selector selects nothing", service({ selector: {} }), { labelSelectors: undefined as never }],
  [
    "preferring near endpoints by its field",
    service({ trafficDistribution: "PreferClose" }),
    { trafficDistribution: "PreferSameZone" },
  ],
  [
    "preferring by annotation over its namespace",
    service({}, { "networking.istio.io/traffic-distribution": "PreferSameNode" }),
    { trafficDistribution: "PreferSameNode" },
    { namespaceAnnotations: { "networking.istio.io/traffic-distribution": "PreferClose" } },
  ],
  [
    "behind a load balancer",
    service(
      { type: "LoadBalancer", externalIPs: ["192.0.2.1"] },
      {},
      { loadBalancer: { ingress: [{ ip: "192.0.2.7" }, { hostname: "lb.example" }] } },
    ),
    { clusterExternalAddresses: { c1: ["192.0.2.7", "lb.example", "192.0.2.1"] } },
  ],
  [
    "reached through nodes",
    service(
      { type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] },
      { "traffic.istio.io/nodeSelector": '{"role":"edge"}' },
    ),
    { clusterExternalPorts: { c1: { 80: 30080 } }, clusterExternalAddresses: { c1: ["203.0.113.1"] } },
    { nodes: [node] },
  ],
  [
    "a port out of range is left out",
    service({ ports: [{ port: 0 }, { port: 70000 }, { port: 1, name: "tcp" }] }),
    { ports: [{ name: "tcp", number: 1, protocol: "TCP" }] },
  ],
];

for (const [name, object, expected, more] of cases) {
  test(`a Service, ${name}`, () => {
    const converted = convertKubernetesService(object, { ...context, ...more });
    for (const [field, value] of Object.entries(expected))
      assert.deepEqual(converted[field as keyof Service], value, field);
  });
}

test("a Service keeps what generators need of Kubernetes", () => {
  const { kubernetes } = convertKubernetesService(
    service({
      internalTrafficPolicy: "Local",
      publishNotReadyAddresses: true,
      ports: [
        { port: 80, targetPort: "web" },
        { port: 90, targetPort: 9090 },
      ],
    }),
    context,
  );
  assert.deepEqual(kubernetes, {
    type: "",
    nodeLocal: true,
    publishNotReadyAddresses: true,
    headless: false,
    targetPorts: { 80: "web", 90: "9090" },
  });
});

const protocolCases: readonly (readonly [string, PortTraits, string])[] = [
  ["the prefix of the name", { port: 80, name: "http-web" }, "HTTP"],
  ["the whole name", { port: 80, name: "grpc" }, "GRPC"],
  ["in capitals", { port: 80, name: "HTTP2-x" }, "HTTP2"],
  ["a prefix with a dash in it", { port: 80, name: "grpc-web-x" }, "GRPC-Web"],
  ["a name that says nothing", { port: 80, name: "web" }, "Unsupported"],
  ["no name", { port: 80 }, "Unsupported"],
  ["UDP, whatever the name", { port: 80, name: "http", protocol: "UDP" }, "UDP"],
  ["appProtocol before the name", { port: 80, name: "http", appProtocol: "tcp" }, "TCP"],
  ["an unknown appProtocol hides the name", { port: 80, name: "http", appProtocol: "amqp" }, "Unsupported"],
  ["Kubernetes' h2c", { port: 80, name: "x", appProtocol: "kubernetes.io/h2c" }, "HTTP2"],
  ["Kubernetes' ws", { port: 80, appProtocol: "kubernetes.io/ws" }, "HTTP"],
  ["Kubernetes' wss", { port: 80, appProtocol: "kubernetes.io/wss" }, "HTTPS"],
  ["a server that speaks first", { port: 3306, name: "db" }, "TCP"],
  ["a server that speaks first, but named", { port: 3306, name: "http" }, "HTTP"],
];

for (const [name, port, expected] of protocolCases) {
  test(`protocol by ${name}`, () => assert.equal(portProtocol(port), expected));
}

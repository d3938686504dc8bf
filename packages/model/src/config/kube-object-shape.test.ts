import assert from "node:assert/strict";
import { test } from "node:test";
import { checkKubeObject } from "./kube-object-shape.ts";

function findings(apiVersion: string, kind: string, fields: object): readonly string[] {
  const object = { apiVersion, kind, metadata: { name: "x" }, ...fields };
  return checkKubeObject(object).map(({ field, reason }) => `${field} ${reason}`);
}

const cases: readonly (readonly [string, string, object, readonly string[]])[] = [
  ["v1", "Service", { spec: { ports: [{ port: 80, targetPort: "web" }], selector: { a: "b" } } }, []],
  ["v1", "Service", { spec: { ports: [{ port: "80" }] } }, ["spec.ports[0].port is no integer"]],
  [
    "v1",
    "Service",
    { spec: { ports: "80", selector: { a: 1 } } },
    ["spec.selector.a is no text", "spec.ports is no list"],
  ],
  ["v1", "Service", { spec: { ports: [{ port: 80.5 }] } }, ["spec.ports[0].port is no integer"]],
  ["v1", "Service", { spec: { ports: [{ port: 2 ** 53 }] } }, ["spec.ports[0].port is no integer"]],
  ["v1", "Pod", { spec: { containers: false } }, ["spec.containers is no list"]],
  [
    "v1",
    "Pod",
    { spec: { containers: [{ ports: [{ containerPort: "web" }] }] } },
    ["spec.containers[0].ports[0].containerPort is no integer"],
  ],
  ["v1", "Pod", { metadata: { name: "x", ownerReferences: "a" } }, ["metadata.ownerReferences is no list"]],
  ["v1", "Namespace", { metadata: { labels: 5 } }, []],
  ["v1", "Node", { metadata: { labels: { a: 5 } } }, ["metadata.labels.a is no text"]],
  [
    "gateway.networking.k8s.io/v1",
    "Gateway",
    {
      spec: { listeners: [{ tls: { mode: 5 }, allowedRoutes: { namespaces: { selector: { matchLabels: [] } } } }] },
    },
    [
      "spec.listeners[0].tls.mode is no text",
      "spec.listeners[0].allowedRoutes.namespaces.selector.matchLabels is no object",
    ],
  ],
  ["v1", "Service", { spec: [] }, ["spec is no object"]],
  ["v1", "Service", { spec: null, status: { loadBalancer: {} } }, []],
  [
    "discovery.k8s.io/v1",
    "EndpointSlice",
    { endpoints: [{ addresses: "10.0.0.1" }] },
    ["endpoints[0].addresses is no list"],
  ],
  [
    "discovery.k8s.io/v1",
    "EndpointSlice",
    { endpoints: [{ conditions: { ready: "yes" } }] },
    ["endpoints[0].conditions.ready is no flag"],
  ],
  ["v1", "Pod", { status: { podIPs: ["10.0.0.1"] } }, ["status.podIPs[0] is no object"]],
  [
    "networking.istio.io/v1",
    "ServiceEntry",
    { spec: { hosts: 5, ports: [{ number: "80" }], endpoints: [{ weight: -0.5 }] }, status: 5 },
    ["spec.hosts is no list", "spec.ports[0].number is no integer", "spec.endpoints[0].weight is no integer"],
  ],
  ["serving.knative.dev/v1", "Service", { spec: "anything" }, []],
];

for (const [apiVersion, kind, fields, expected] of cases) {
  test(`${kind} ${JSON.stringify(fields)}`, () => assert.deepEqual(findings(apiVersion, kind, fields), expected));
}

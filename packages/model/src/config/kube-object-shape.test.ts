import assert from "node:assert/strict";
import { test } from "node:test";
import { checkKubeObject } from "./kube-object-shape.ts";

function findings(apiVersion: string, kind: string, fields: object): readonly string[] {
  const object = { apiVersion, kind, metadata: { name: "x" }, ...fields };
  return checkKubeObject(object).map(({ field, reason }) => `${field} ${reason}`);
}

const cases: readonly (readonly [string, string, object, readonly string[]])[] = [
  ["v1", "Service", { spec: { ports: [{ port: 80, targetPort: "web" }], selector: { a: "b" } } }, []],
  ["v1", "Service", { spec: { ports: [{ port: "80" }] } }, ["spec.ports[0].port is no number"]],
  [
    "v1",
    "Service",
    { spec: { ports: "80", selector: { a: 1 } } },
    ["spec.selector.a is no text", "spec.ports is no list"],
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
  ["serving.knative.dev/v1", "Service", { spec: "anything" }, []],
];

for (const [apiVersion, kind, fields, expected] of cases) {
  test(`${kind} ${JSON.stringify(fields)}`, () => assert.deepEqual(findings(apiVersion, kind, fields), expected));
}

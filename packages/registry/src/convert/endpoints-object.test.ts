/** Endpoints objects as EndpointSlices. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { slicesOfEndpoints } from "./endpoints-object.ts";

const metadata = { name: "a", namespace: "n", resourceVersion: "7", labels: { own: "x" } };
const object = (subsets?: readonly object[]) => ({
  ...{ apiVersion: "v1", kind: "Endpoints", metadata },
  ...(subsets !== undefined && { subsets }),
});
const targetRef = { kind: "Pod", namespace: "n", name: "p" };
const conditions = (ready: boolean) => ({ ready, serving: ready, terminating: false });

describe("an Endpoints object", () => {
  it("is a slice of its service for each subset, named as no real slice can be", () => {
    const ports = [{ name: "http", port: 80 }];
    const subsets = [
      {
        addresses: [{ ip: "10.0.0.1", nodeName: "node", targetRef }, {}],
        notReadyAddresses: [{ ip: "10.0.0.2" }],
        ports,
      },
      {},
    ];
    const common = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4" };
    const named = (name: string) => ({ ...metadata, name, labels: { "kubernetes.io/service-name": "a" } });
    assert.deepEqual(slicesOfEndpoints(object(subsets)), [
      {
        ...{ ...common, metadata: named("a~0"), ports },
        endpoints: [
          { addresses: ["10.0.0.1"], conditions: conditions(true), nodeName: "node", targetRef },
          { addresses: [], conditions: conditions(true) },
          { addresses: ["10.0.0.2"], conditions: conditions(false) },
        ],
      },
      { ...common, metadata: named("a~1"), endpoints: [], ports: [] },
    ]);
  });

  it("is none without subsets", () => {
    assert.deepEqual(slicesOfEndpoints(object()), []);
    assert.deepEqual(slicesOfEndpoints(object([])), []);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointHealth, Service } from "@flotilla/model";
import type { KubeEndpointConditions, KubePod } from "../kube.ts";
import { pod, service, slice } from "../registry/sample-objects.fixture.ts";
import { convertEndpointSlice } from "./endpoint-slice.ts";
import { convertKubernetesService } from "./kubernetes-service.ts";

const label = "istio.io/persistent-session";

function converted(labels: Readonly<Record<string, string>>): Service {
  const plain = service("a");
  const object = { ...plain, metadata: { ...plain.metadata, labels } };
  return convertKubernetesService(object, { domain: "cluster.local", clusterId: "c", trustDomain: "cluster.local" });
}

function convert(conditions: KubeEndpointConditions, labels = {}, phase = "Running") {
  const sliced = slice("a-1", "a", { p: "10.1.0.1" });
  const [endpoint] = sliced["endpoints"] as readonly object[];
  const base = pod("p", "10.1.0.1");
  const own = { ...base, status: { ...(base["status"] as object), phase } } as KubePod;
  const context = {
    clusterId: "c",
    trustDomain: "cluster.local",
    dualStack: false,
    persistentSessionLabel: label,
    networkOf: () => "",
    systemNetwork: "",
    nodeOf: () => undefined,
  };
  const lookup = { byName: () => own, byAddress: () => own };
  const object = { ...sliced, endpoints: [{ ...endpoint, conditions }] };
  return convertEndpointSlice(object, converted(labels), lookup, context).endpoints;
}

// As a running istiod shows them, once it has the service.
const cases: readonly (readonly [KubeEndpointConditions, object, EndpointHealth])[] = [
  [{}, {}, "healthy"],
  [{ ready: false, serving: true, terminating: true }, {}, "terminating"],
  [{ ready: false, serving: true, terminating: true }, { [label]: "x" }, "draining"],
  [{ ready: false, serving: false, terminating: true }, { [label]: "x" }, "terminating"],
  [{ ready: false, serving: false, terminating: false }, { [label]: "x" }, "unhealthy"],
];

for (const [conditions, labels, expected] of cases) {
  test(`${JSON.stringify(conditions)} with ${Object.keys(labels).length} labels is ${expected}`, () => {
    assert.equal(convert(conditions, labels)[0]?.health, expected);
  });
}

test("a pod that failed is no endpoint, whatever the slice says; one that ended is", () => {
  assert.equal(convert({ ready: true }, {}, "Failed").length, 0);
  assert.equal(convert({ ready: true }, {}, "Succeeded").length, 1);
});

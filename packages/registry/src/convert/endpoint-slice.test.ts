import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointHealth, Service } from "@flotilla/model";
import type { KubeEndpointConditions, KubePod } from "../kube.ts";
import { pod, service, slice } from "../registry/sample-objects.fixture.ts";
import { convertEndpointSlice, distinctEndpoints } from "./endpoint-slice.ts";
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

const context = {
  ...{ clusterId: "c", trustDomain: "td", dualStack: false, persistentSessionLabel: label, systemNetwork: "" },
  ...{ networkOf: () => "", nodeOf: () => undefined },
};
const known: Readonly<Record<string, KubePod>> = {
  "n/p": pod("p", "10.1.0.1") as KubePod,
  "n/10.1.0.2": pod("q", "10.1.0.2") as KubePod,
  "other/p": pod("other-p", "10.1.0.9") as KubePod,
};
const lookup = {
  byName: (namespace: string, name: string) => known[`${namespace}/${name}`],
  byAddress: (namespace: string, address: string) => known[`${namespace}/${address}`],
};
const sliceOf = (endpoints: readonly object[], more: object = {}) =>
  ({ ...slice("a-1", "a", { p: "10.1.0.1" }), endpoints, ...more }) as Parameters<typeof convertEndpointSlice>[0];
const convertAll = (endpoints: readonly object[], more: object = {}) =>
  convertEndpointSlice(sliceOf(endpoints, more), converted({}), lookup, context);

const sources: readonly (readonly [
  name: string,
  endpoint: object,
  definedBy: readonly string[],
  missing: readonly string[],
])[] = [
  ["that it names", { addresses: ["10.1.0.1"], targetRef: { kind: "Pod", name: "p" } }, ["Pod/n/p"], []],
  [
    "of another namespace that it names",
    { addresses: ["10.1.0.9"], targetRef: { kind: "Pod", name: "p", namespace: "other" } },
    ["Pod/n/other-p"],
    [],
  ],
  ["of its address where it names none", { addresses: ["10.1.0.2"] }, ["Pod/n/q"], []],
  [
    "of its address where it names something else",
    { addresses: ["10.1.0.2"], targetRef: { kind: "Node", name: "p" } },
    ["Pod/n/q"],
    [],
  ],
  ["that is not known, by its address alone", { addresses: ["10.1.0.3"] }, ["EndpointSlice/n/a-1"], []],
  [
    "that is named and not known yet: it waits",
    { addresses: ["10.1.0.3"], targetRef: { kind: "Pod", name: "r" } },
    [],
    ["n/r"],
  ],
];
for (const [name, endpoint, definedBy, missing] of sources)
  test(`an endpoint is of the pod ${name}`, () => {
    const found = convertAll([endpoint]);
    assert.deepEqual([...new Set(found.endpoints.map((one) => one.definedBy))], definedBy);
    assert.deepEqual(found.missingPods, missing);
  });

test("a slice of names has no endpoints, nor one without ports", () => {
  const endpoint = { addresses: ["10.1.0.2"] };
  assert.deepEqual(convertAll([endpoint], { addressType: "FQDN" }), { endpoints: [], missingPods: [] });
  assert.deepEqual(convertAll([endpoint], { ports: undefined }).endpoints, []);
  assert.deepEqual(
    convertEndpointSlice(sliceOf([], { endpoints: undefined }), converted({}), lookup, context).endpoints,
    [],
  );
});

test("endpoints of one address and port are one, the first", () => {
  const { endpoints } = convertAll([
    { addresses: ["10.1.0.2"] },
    { addresses: ["10.1.0.2"] },
    { addresses: ["10.1.0.3"] },
  ]);
  const distinct = distinctEndpoints(endpoints);
  assert.equal(endpoints.length, (distinct.length * 3) / 2);
  assert.equal(distinct[0], endpoints[0]);
  assert.deepEqual([...new Set(distinct.flatMap(({ addresses }) => addresses))], ["10.1.0.2", "10.1.0.3"]);
});

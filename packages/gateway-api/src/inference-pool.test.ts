import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import {
  type InferencePoolSpec,
  isOwnPoolService,
  isPoolRef,
  isPoolService,
  poolService,
  poolServiceName,
  poolServiceOf,
} from "./inference-pool.ts";
import { inferencePoolStatus, type PoolGateway } from "./inference-pool-status.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const key = { kind: "InferencePool", namespace: "shop", name: "llama" };
const spec: InferencePoolSpec = {
  selector: { matchLabels: { app: "llama" } },
  targetPorts: [{ number: 8000 }, { number: 8001 }],
  endpointPickerRef: { name: "picker", port: { number: 9002 } },
};
const aPool = (more: InferencePoolSpec = {}) => ({
  key,
  ...{ creationTimeMs: 0, labels: {}, annotations: {} },
  spec: { ...spec, ...more },
});

test("the name of a pool's Service is istiod's, and no longer than a name may be", () => {
  // Of corpus gateway-api (reference-policy-inferencepool).
  assert.equal(poolServiceName("my-ip", sha256), "my-ip-ip-03f70481");
  const long = poolServiceName("p".repeat(80), sha256);
  assert.equal(long.length, 63);
  assert.match(long, /^p+-ip-[0-9a-f]{8}$/);
});

test("the Service selects the pool's pods, a port for each of theirs", () => {
  const service = poolService(aPool({ appProtocol: "http" }), "llama-ip-1");
  assert.deepEqual(service?.spec, {
    ...{ selector: { app: "llama" }, type: "ClusterIP", clusterIP: "None" },
    ports: [
      { name: "http-0", protocol: "TCP", port: 54321, targetPort: 8000, appProtocol: "http" },
      { name: "http-1", protocol: "TCP", port: 54322, targetPort: 8001, appProtocol: "http" },
    ],
  });
  assert.equal(poolService(aPool({ endpointPickerRef: { name: "picker" } }), "llama-ip-1"), undefined);
  assert.equal(poolService({ key, spec: {} }, "llama-ip-1"), undefined);
});

const pickers: readonly { readonly name: string; readonly mode?: string; readonly failsOpen: boolean }[] = [
  { name: "refuses requests without an answer unless it says otherwise", failsOpen: false },
  { name: "may let requests pass", mode: "FailOpen", failsOpen: true },
];

for (const { name, mode, failsOpen } of pickers)
  test(`the picker of a pool ${name}`, () => {
    const picker = { name: "picker", port: { number: 9002 }, ...(mode !== undefined && { failureMode: mode }) };
    const { labels = {} } = poolService(aPool({ endpointPickerRef: picker }), "llama-ip-1")?.metadata ?? {};
    assert.equal(isPoolService(labels), true);
    const place = { home: "shop.svc.cluster.local", service: "llama-ip-1" };
    assert.deepEqual(
      poolServiceOf(place, () => ({ labels, port: 54321 })),
      {
        host: "llama-ip-1.shop.svc.cluster.local",
        port: 54321,
        picker: { host: "picker.shop.svc.cluster.local", port: 9002, failsOpen },
      },
    );
  });

test("without its Service a pool has no port and no picker", () => {
  const found = poolServiceOf({ home: "shop.svc.cluster.local", service: "llama-ip-1" }, () => undefined);
  assert.deepEqual([found.port, found.picker], [undefined, undefined]);
});

test("a reference leads to a pool by its group and kind", () => {
  const group = "inference.networking.k8s.io";
  assert.equal(isPoolRef({ group, kind: "InferencePool", name: "llama" }), true);
  for (const ref of [{ kind: "InferencePool" }, { group }, { group, kind: "Service" }, {}])
    assert.equal(isPoolRef(ref), false);
});

test("a Service is a pool's own by its label", () => {
  const { labels = {} } = poolService(aPool(), "llama-ip-1")?.metadata ?? {};
  assert.deepEqual([isOwnPoolService(labels), isPoolService(labels)], [true, true]);
  assert.deepEqual([isOwnPoolService({ app: "llama" }), isPoolService({ app: "llama" })], [false, false]);
});

test("a Service without one of the picker's labels has no picker", () => {
  const { labels = {} } = poolService(aPool(), "llama-ip-1")?.metadata ?? {};
  const place = { home: "shop.svc.cluster.local", service: "llama-ip-1" };
  const names = Object.keys(labels).filter((name) => name.includes("extension"));
  assert.equal(names.length, 3);
  for (const name of names) {
    const { [name]: _, ...rest } = labels;
    const found = poolServiceOf(place, () => ({ labels: rest, port: 54321 }));
    assert.deepEqual([found.port, found.picker], [54321, undefined], name);
  }
});

const edge: PoolGateway = { namespace: "infra", name: "edge" };
const statuses: readonly {
  readonly name: string;
  readonly spec?: InferencePoolSpec;
  readonly gateways?: readonly PoolGateway[];
  readonly want: readonly string[];
}[] = [
  { name: "a Gateway takes its routes", want: ["Accepted True Accepted", "ResolvedRefs True ResolvedRefs"] },
  { name: "no Gateway has a route", gateways: [], want: [] },
  {
    name: "a Gateway refuses its routes",
    gateways: [{ ...edge, refused: "not allowed" }],
    want: ["Accepted False HTTPRouteNotAccepted", "ResolvedRefs True ResolvedRefs"],
  },
  {
    name: "its picker does not exist",
    spec: { endpointPickerRef: { name: "lost", port: { number: 1 } } },
    want: ["Accepted True Accepted", "ResolvedRefs False InvalidExtensionRef"],
  },
  {
    name: "its picker is no Service",
    spec: { endpointPickerRef: { kind: "Pod", name: "picker" } },
    want: ["Accepted True Accepted", "ResolvedRefs False InvalidExtensionRef"],
  },
  {
    name: "it names no picker",
    spec: { endpointPickerRef: {} },
    want: ["Accepted True Accepted", "ResolvedRefs False InvalidExtensionRef"],
  },
];

for (const { name, spec: more = {}, gateways = [edge], want } of statuses)
  test(`the status of a pool: ${name}`, () => {
    const entries = inferencePoolStatus(aPool(more), gateways, (service) => service === "picker");
    const found = entries.flatMap(({ conditions }) => conditions);
    assert.deepEqual(
      found.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
      want,
    );
  });

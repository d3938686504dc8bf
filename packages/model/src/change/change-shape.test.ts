/** Changes as they come from the bus: what is none is refused with the place. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { changeShape, configKeyShape } from "./change-shape.ts";

const key = { kind: "VirtualService", namespace: "shop", name: "a" };

describe("the key of an object", () => {
  const cases: readonly (readonly [name: string, key: unknown, problem: string | undefined])[] = [
    ["has a kind, a namespace and a name", key, undefined],
    ["may have no namespace", { ...key, namespace: "" }, undefined],
    ["holds no slash in its name", { ...key, name: "a/b" }, '.name holds "/"'],
    ["holds no slash in its namespace", { ...key, namespace: "/" }, '.namespace holds "/"'],
    ["is of texts", { ...key, kind: 1 }, ".kind is no text"],
  ];
  for (const [name, value, problem] of cases) it(name, () => assert.equal(configKeyShape(value), problem));
});

describe("a change", () => {
  const cases: readonly (readonly [name: string, change: unknown, problem: string | undefined])[] = [
    ["deletes by a key", { type: "config", op: "delete", key }, undefined],
    ["names its key", { type: "config", op: "delete", key: { ...key, name: "a/b" } }, '.key.name holds "/"'],
    ["is of a known type", { type: "toString", op: "delete", key }, ".type is no type of change"],
    ["puts or deletes", { type: "config", op: "patch", key }, ".op is neither put nor delete"],
  ];
  for (const [name, value, problem] of cases) it(name, () => assert.equal(changeShape(value), problem));
});

describe("the value of a change", () => {
  const config = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: {} };
  const serviceKey = { shard: "Kubernetes/a", namespace: "shop", hostname: "web.shop", name: "web" };
  const service = {
    ...{ hostname: "web.shop", namespace: "shop", name: "web", registry: "Kubernetes", resolution: "client-side" },
    ...{ ports: [{ name: "http", number: 80, protocol: "HTTP" }], meshExternal: false, defaultAddress: "10.0.0.1" },
    ...{ clusterVips: { a: ["10.0.0.1"] }, creationTimeMs: 0, labels: {}, exportTo: [], serviceAccounts: [] },
    definedBy: "Service/shop/web",
  };
  const endpoint = {
    ...{ addresses: ["10.1.0.1"], servicePortName: "http", port: 80, labels: {}, serviceAccount: "", network: "" },
    ...{
      locality: "",
      clusterId: "a",
      weight: 0,
      tlsMode: "",
      namespace: "shop",
      workloadName: "web",
      health: "healthy",
    },
  };
  const workload = {
    ...{ kind: "Pod", name: "web", namespace: "shop", addresses: ["10.1.0.1"], labels: {}, network: "", locality: "" },
    ...{ clusterId: "a", serviceAccount: "", workloadName: "web", isReady: true, tunnel: "none", ports: { http: 80 } },
  };
  const configOf = (over: object) => ({ type: "config", op: "put", key, value: { ...config, ...over } });
  const serviceOf = (over: object) => ({ type: "service", op: "put", key: serviceKey, value: { ...service, ...over } });
  const endpointOf = (over: object) => ({
    type: "endpoints",
    op: "put",
    key: serviceKey,
    value: [{ ...endpoint, ...over }],
  });
  const workloadKey = { shard: "Kubernetes/a", namespace: "shop", uid: "a//Pod/shop/web" };
  const workloadOf = (over: object) => ({
    type: "workload",
    op: "put",
    key: workloadKey,
    value: { ...workload, ...over },
  });
  const cases: readonly (readonly [name: string, change: unknown, problem: string | undefined])[] = [
    ["of an object", configOf({}), undefined],
    ["of another kind", configOf({ key: { ...key, kind: "Gateway" } }), ".value.key.kind is not that of the key"],
    ["of another object", configOf({ key: { ...key, name: "b" } }), ".value.key.name is not that of the key"],
    ["of a service", serviceOf({}), undefined],
    ["of another service", serviceOf({ hostname: "api.shop" }), ".value.hostname is not that of the key"],
    [
      "with a port that is none",
      serviceOf({ ports: [{ ...service.ports[0], number: 65_536 }] }),
      ".value.ports[0].number is no port",
    ],
    [
      "with an address that is none",
      serviceOf({ clusterVips: { a: ["web"] } }),
      ".value.clusterVips.a[0] is no address",
    ],
    ["with a range as its address", serviceOf({ defaultAddress: "10.0.0.0/8" }), undefined],
    [
      "with a text as its address",
      serviceOf({ defaultAddress: "10.0.0.1 " }),
      ".value.defaultAddress is no address and no range",
    ],
    ["of endpoints", endpointOf({}), undefined],
    ["of an endpoint that a gateway leads to", endpointOf({ addresses: [""] }), undefined],
    ["of an endpoint without an address", endpointOf({ addresses: [] }), ".value[0].addresses is empty"],
    ["of an endpoint with a port that is none", endpointOf({ port: 0.5 }), ".value[0].port is no port"],
    ["of an endpoint with a weight that is none", endpointOf({ weight: -1 }), ".value[0].weight is no weight"],
    ["of a workload", workloadOf({}), undefined],
    [
      "of a workload of another namespace",
      workloadOf({ namespace: "depot" }),
      ".value.namespace is not that of the key",
    ],
    [
      "of a workload with an address that is none",
      workloadOf({ addresses: ["web"] }),
      ".value.addresses[0] is no address",
    ],
  ];
  for (const [name, value, problem] of cases) it(name, () => assert.equal(changeShape(value), problem));
});

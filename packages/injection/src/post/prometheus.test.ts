/** Targets that the agent scrapes, and the annotations by which Prometheus scrapes the agent. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Json, Pod, Texts } from "../pod.ts";
import { applyProxyEnvironment } from "./cluster-environment.ts";
import { annotateSecurePort, mergePrometheus } from "./prometheus.ts";

const podOf = (annotations: Texts, container = "istio-proxy"): Pod =>
  ({
    metadata: { name: "p", annotations },
    spec: { containers: [{ name: container, env: [{ name: "A", value: "1" }] }] },
  }) as Pod;
const envOf = ({ spec }: Pod) => spec.containers?.[0]?.env ?? [];
const merged = (annotations: Texts, mesh: Json = {}) => mergePrometheus(podOf(annotations), mesh, 15_020);
const reported = (pod: Pod): unknown => {
  const found = envOf(pod).find(({ name }) => name === "ISTIO_PROMETHEUS_ANNOTATIONS");
  return found && JSON.parse(String(found.value));
};
const [scrape, path, port] = ["prometheus.io/scrape", "prometheus.io/path", "prometheus.io/port"];
const targets = "prometheus.istio.io/scrape-targets";
const merge = "prometheus.istio.io/merge-metrics";

const untouched: readonly (readonly [string, Texts, Json?])[] = [
  ["the pod is not scraped", { [scrape]: "false" }],
  ["the pod is not scraped, in the other spelling", { "prometheus.io.scrape": "false" }],
  ["the mesh merges nothing", {}, { enablePrometheusMerge: false }],
  ["the pod merges nothing", { [merge]: "F" }],
  ["the pod is not scraped, as Go reads it", { "prometheus_io/scrape": "0" }],
  ["it was done before", { [port]: "15020" }],
];
const asked: readonly (readonly [string, Texts, unknown, Json?])[] = [
  ["nothing is said", {}, undefined],
  ["the pod says where", { [scrape]: "true", [path]: "/m", [port]: "80" }, { scrape: "true", path: "/m", port: "80" }],
  [
    "the pod merges in spite of the mesh",
    { [merge]: "T", [port]: "80" },
    { scrape: "", path: "", port: "80" },
    { enablePrometheusMerge: false },
  ],
  ["an empty request is none", { [merge]: "", [scrape]: "true" }, { scrape: "true", path: "", port: "" }],
  [
    "there are several targets, the first stands for all",
    { [targets]: " 8080:/metrics, ,9100" },
    {
      scrape: "",
      path: "/metrics",
      port: "8080",
      targets: [
        { port: "8080", path: "/metrics" },
        { port: "9100", path: "/metrics" },
      ],
    },
  ],
];

const impossible: readonly (readonly [Texts, RegExp])[] = [
  [{ [port]: "http" }, /invalid port "http"/],
  [{ [port]: "0" }, /invalid port "0"/],
  [{ [targets]: "8080,70000" }, /invalid port "70000"/],
  [{ [targets]: "15020:/m" }, /conflicts with agent port/],
  [{ [port]: "15006" }, /reserved for Istio/],
];

describe("ports that cannot be scraped", () => {
  for (const [annotations, reason] of impossible)
    it(`refuse the pod: ${JSON.stringify(annotations)}`, () => assert.throws(() => merged(annotations), { reason }));
});

describe("the port of merged metrics over TLS", () => {
  const secure = (value: string, annotations: Texts = {}) => {
    const env = [{ name: "ENVOY_SECURE_MERGED_METRICS_PORT", value }];
    const pod = { metadata: { annotations }, spec: { containers: [{ name: "istio-proxy", env }] } };
    return annotateSecurePort(pod).metadata.annotations;
  };
  const name = "prometheus.istio.io/secure-port";
  it("is annotated", () => assert.deepEqual(secure("15091"), { [name]: "15091" }));
  it("is not annotated where it is off", () => assert.deepEqual([secure("0"), secure("")], [{}, {}]));
  it("stays what the pod says", () => assert.deepEqual(secure("15091", { [name]: "1" }), { [name]: "1" }));
});

describe("metrics of a pod", () => {
  for (const [name, annotations, mesh = {}] of untouched)
    it(`stay as they are: ${name}`, () => assert.deepEqual(merged(annotations, mesh), podOf(annotations)));
  for (const [name, annotations, want, mesh = {}] of asked)
    it(`are merged by the agent: ${name}`, () => {
      const pod = merged(annotations, mesh);
      const now = pod.metadata.annotations ?? {};
      assert.deepEqual([now[scrape], now[path], now[port]], ["true", "/stats/prometheus", "15020"]);
      assert.equal(Object.hasOwn(now, targets), false);
      assert.deepEqual(reported(pod), want);
    });
  it("are passed to no proxy where there is none", () => {
    const pod = mergePrometheus(podOf({ [scrape]: "true" }, "app"), {}, 15_020);
    assert.deepEqual([pod.metadata.annotations?.[port], envOf(pod).length], ["15020", 1]);
  });
});

describe("the environment that an address carries", () => {
  it("comes in order and replaces what the proxy has; the network is a label too", () => {
    const pod = applyProxyEnvironment(podOf({}), { ISTIO_META_NETWORK: "n", A: "2", B: "3" });
    assert.deepEqual(envOf(pod), [
      { name: "A", value: "2" },
      { name: "B", value: "3" },
      { name: "ISTIO_META_NETWORK", value: "n" },
    ]);
    assert.deepEqual(pod.metadata.labels, { "topology.istio.io/network": "n" });
  });
  it("leaves a network alone that the pod names, and a pod as it is where there is none", () => {
    const named = { ...podOf({}), metadata: { name: "p", labels: { "topology.istio.io/network": "own" } } };
    const changed = applyProxyEnvironment(named, { ISTIO_META_NETWORK: "n" });
    assert.deepEqual(changed.metadata.labels, { "topology.istio.io/network": "own" });
    assert.deepEqual(applyProxyEnvironment(podOf({}), {}), podOf({}));
  });
});

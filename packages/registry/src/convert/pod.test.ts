import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubePod } from "../kube.ts";
import type { EndpointContext } from "./endpoint-traits.ts";
import { isPodReady, podWorkload, workloadName } from "./pod.ts";

function pod(
  metadata: Partial<KubePod["metadata"]>,
  spec: KubePod["spec"] = {},
  status: KubePod["status"] = {},
): KubePod {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "n", ...metadata }, spec, status };
}

function owned(kind: string, name: string, labels: Readonly<Record<string, string>> = {}): KubePod {
  return pod({ generateName: "p-", labels, ownerReferences: [{ apiVersion: "x", kind, name, controller: true }] });
}

const names: readonly (readonly [string, KubePod, string])[] = [
  ["a pod on its own", pod({}), "p"],
  ["a Deployment's", owned("ReplicaSet", "web-abc", { "pod-template-hash": "abc" }), "web"],
  ["a ReplicaSet's without a Deployment", owned("ReplicaSet", "web"), "web"],
  ["a StatefulSet's", owned("StatefulSet", "db"), "db"],
  ["a Job's", owned("Job", "once"), "once"],
  ["a CronJob's", owned("Job", "nightly-28000001"), "nightly"],
  ["a DeploymentConfig's", owned("ReplicationController", "web-3", { deploymentconfig: "web" }), "web"],
  [
    "a pod that states it",
    owned("ReplicaSet", "web-abc", { "pod-template-hash": "abc", "service.istio.io/workload-name": "shop" }),
    "shop",
  ],
  ["a pod that somebody named himself", { ...owned("StatefulSet", "db"), metadata: { name: "db-0" } }, "db-0"],
];

for (const [name, value, expected] of names) {
  test(`the workload of ${name}`, () => assert.equal(workloadName(value), expected));
}

const context: EndpointContext = {
  clusterId: "c1",
  trustDomain: "td",
  dualStack: false,
  persistentSessionLabel: "",
  networkOf: () => "by-range",
  systemNetwork: "",
  nodeOf: (name) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "topology.kubernetes.io/region": "r",
        "topology.kubernetes.io/zone": "z",
        "topology.istio.io/subzone": "s",
      },
    },
  }),
};

test("a pod brings identity, place, network and TLS mode", () => {
  const workload = podWorkload(
    pod(
      { labels: { "security.istio.io/tlsMode": "istio" } },
      { nodeName: "node", serviceAccountName: "sa", subdomain: "sub" },
    ),
    context,
  );
  assert.deepEqual(workload, {
    labels: {
      "security.istio.io/tlsMode": "istio",
      "topology.kubernetes.io/region": "r",
      "topology.kubernetes.io/zone": "z",
      "topology.istio.io/subzone": "s",
      "topology.istio.io/cluster": "c1",
      "kubernetes.io/hostname": "node",
      "topology.istio.io/network": "by-range",
    },
    serviceAccount: "spiffe://td/ns/n/sa/sa",
    network: "by-range",
    locality: "r/z/s",
    clusterId: "c1",
    tlsMode: "istio",
    namespace: "n",
    workloadName: "p",
    hostname: "p",
    subdomain: "sub",
    nodeName: "node",
  });
});

test("labels of the pod win over its node and the ranges", () => {
  const labels = { "istio-locality": "a.b", "topology.istio.io/network": "own" };
  const workload = podWorkload(pod({ labels }, { nodeName: "node" }), { ...context, systemNetwork: "system" });
  assert.equal(workload.locality, "a/b");
  assert.equal(workload.network, "own");
  assert.equal(podWorkload(pod({}), { ...context, systemNetwork: "system" }).network, "system");
});

test("a pod is ready when it runs, has an address and says so", () => {
  const ready = { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] };
  assert.equal(isPodReady(pod({}, {}, ready)), true);
  assert.equal(isPodReady(pod({}, {}, { ...ready, conditions: [] })), false);
  assert.equal(isPodReady(pod({}, {}, { ...ready, podIP: "" })), false);
  assert.equal(isPodReady(pod({ deletionTimestamp: "2026-01-01T00:00:00Z" }, {}, ready)), false);
});

const ready = [{ type: "Ready", status: "True" }];
const readiness: readonly (readonly [name: string, pod: KubePod, isReady: boolean])[] = [
  ["has an address and is Ready", pod({}, {}, { podIP: "10.0.0.1", conditions: ready }), true],
  ["has several addresses", pod({}, {}, { podIPs: [{ ip: "10.0.0.1" }], conditions: ready }), true],
  ["has no address", pod({}, {}, { conditions: ready }), false],
  ["is not Ready", pod({}, {}, { podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "False" }] }), false],
  [
    "is Initialized alone",
    pod({}, {}, { podIP: "10.0.0.1", conditions: [{ type: "Initialized", status: "True" }] }),
    false,
  ],
  ["has no conditions", pod({}, {}, { podIP: "10.0.0.1" }), false],
  ["is running", pod({}, {}, { podIP: "10.0.0.1", conditions: ready, phase: "Running" }), true],
  ["has ended well", pod({}, {}, { podIP: "10.0.0.1", conditions: ready, phase: "Succeeded" }), false],
  ["has failed", pod({}, {}, { podIP: "10.0.0.1", conditions: ready, phase: "Failed" }), false],
  [
    "is being deleted",
    pod({ deletionTimestamp: "2026-01-01T00:00:00Z" }, {}, { podIP: "10.0.0.1", conditions: ready }),
    false,
  ],
];
for (const [name, value, isReady] of readiness)
  test(`a pod that ${name} is ${isReady ? "" : "not "}ready`, () => assert.equal(isPodReady(value), isReady));

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonName } from "./go-view.ts";
import type { Texts } from "./pod.ts";
import { environmentOfPath } from "./post/cluster-environment.ts";
import { workloadOf } from "./request.ts";

const owners: readonly { name: string; owner: readonly [string, string, string]; labels?: Texts; want: string }[] = [
  {
    name: "a Deployment behind its ReplicaSet",
    owner: ["apps/v1", "ReplicaSet", "web-5d"],
    labels: { "pod-template-hash": "5d" },
    want: "apps/v1 Deployment web",
  },
  { name: "a ReplicaSet of its own", owner: ["apps/v1", "ReplicaSet", "web"], want: "apps/v1 ReplicaSet web" },
  {
    name: "a CronJob behind its Job",
    owner: ["batch/v1", "Job", "nightly-28390020"],
    want: "batch/v1 CronJob nightly",
  },
  { name: "a Job of its own", owner: ["batch/v1", "Job", "once-7"], want: "batch/v1 Job once-7" },
  { name: "a StatefulSet", owner: ["apps/v1", "StatefulSet", "db"], want: "apps/v1 StatefulSet db" },
  {
    name: "a DeploymentConfig behind its ReplicationController",
    owner: ["v1", "ReplicationController", "web-3"],
    labels: { deploymentconfig: "web" },
    want: "apps.openshift.io/v1 DeploymentConfig web",
  },
];

describe("workloadOf", () => {
  for (const { name, owner, labels = {}, want } of owners) {
    it(name, () => {
      const [apiVersion, kind, own] = owner;
      const metadata = { labels, ownerReferences: [{ apiVersion, kind, name: own, controller: true }] };
      const workload = workloadOf({ metadata, spec: {} }, "shop");
      assert.equal(`${workload.apiVersion} ${workload.kind} ${workload.name}`, want);
      assert.equal(workload.namespace, "shop");
    });
  }

  it("a pod of its own is its own workload", () => {
    const workload = workloadOf({ metadata: { generateName: "debug-" }, spec: {} }, "shop");
    assert.deepEqual(workload, { apiVersion: "v1", kind: "Pod", name: "debug", namespace: "shop" });
  });
});

describe("jsonName", () => {
  const names = {
    APIVersion: "apiVersion",
    HTTPGet: "httpGet",
    UID: "uid",
    Name: "name",
    ServiceAccountName: "serviceAccountName",
    PodIP: "podIP",
    IPFamilies: "ipFamilies",
  };
  for (const [go, json] of Object.entries(names)) it(`${go} is ${json}`, () => assert.equal(jsonName(go), json));
});

describe("environmentOfPath", () => {
  const paths: readonly [path: string, want: Texts][] = [
    ["/inject", {}],
    ["/inject/", {}],
    ["/inject/cluster/east/net/n1", { ISTIO_META_CLUSTER_ID: "east", ISTIO_META_NETWORK: "n1" }],
    ["/inject/cluster/a--slash--b/foo_bar/x%20y", { ISTIO_META_CLUSTER_ID: "a/b", FOO_BAR: "x y" }],
    ["/inject/cluster", {}],
    ["/inject/cluster/%zz", { ISTIO_META_CLUSTER_ID: "%zz" }],
  ];
  for (const [path, want] of paths) it(path, () => assert.deepEqual(environmentOfPath(path), want));
});

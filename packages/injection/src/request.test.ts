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
    want: "v1 DeploymentConfig web",
  },
  {
    name: "a Rollout behind its ReplicaSet",
    owner: ["apps/v1", "ReplicaSet", "web-5d"],
    labels: { "rollouts-pod-template-hash": "5d" },
    want: "v1alpha1 Rollout web",
  },
  { name: "an owner of an unknown kind", owner: ["x.example/v1", "Game", "chess"], want: "x.example/v1 Game chess" },
];

describe("workloadOf", () => {
  for (const { name, owner, labels = {}, want } of owners) {
    it(name, () => {
      const [apiVersion, kind, own] = owner;
      const metadata = {
        generateName: "x-",
        labels,
        ownerReferences: [{ apiVersion, kind, name: own, controller: true }],
      };
      const workload = workloadOf({ metadata, spec: {} }, "shop");
      assert.equal(`${workload.apiVersion} ${workload.kind} ${workload.name}`, want);
      assert.equal(workload.namespace, "shop");
    });
  }

  it("a pod with a name of its own stands for itself, whatever owns it", () => {
    const owner = { apiVersion: "x.example/v1", kind: "Game", name: "chess", controller: true };
    const workload = workloadOf({ metadata: { name: "pod-1", ownerReferences: [owner] }, spec: {} }, "shop");
    assert.deepEqual(workload, { apiVersion: "v1", kind: "Pod", name: "pod-1", namespace: "shop" });
  });

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
    ["/inject/cluster/east/", { ISTIO_META_CLUSTER_ID: "east" }],
    ["/inject/:ENV:cluster=east:ENV:A=b=c:ENV:=x:ENV:B", { ISTIO_META_CLUSTER_ID: "east", A: "b=c" }],
    ["/inject/cluster", {}],
    ["/inject/cluster/%zz", { ISTIO_META_CLUSTER_ID: "%zz" }],
  ];
  for (const [path, want] of paths) it(path, () => assert.deepEqual(environmentOfPath(path), want));
});

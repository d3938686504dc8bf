/** Where the pod of a workload stands in its object, and what is injected into it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Json } from "./pod.ts";
import type { Workload } from "./request.ts";
import { injectWorkload } from "./workload.ts";

const spec = { containers: [{ name: "app" }] };
const injected = { ...spec, injected: true };
const metadata = { name: "web", namespace: "shop" };
const owned = {
  generateName: "chess-",
  ownerReferences: [{ apiVersion: "x.example/v1", kind: "Game", name: "chess", controller: true }],
};

function inject(object: Json) {
  const workloads: Workload[] = [];
  const result = injectWorkload(object, (pod, workload) => {
    workloads.push(workload);
    return { ...pod, spec: { ...pod.spec, injected: true } } as typeof pod;
  });
  return { result, workloads };
}

const cases: readonly { readonly name: string; readonly object: Json; readonly want: Json; readonly of?: string }[] = [
  {
    name: "a Pod",
    object: { apiVersion: "v1", kind: "Pod", metadata, spec },
    want: { apiVersion: "v1", kind: "Pod", metadata, spec: injected },
    of: "v1 Pod shop/web",
  },
  {
    name: "a Pod whose name is generated",
    object: { apiVersion: "v1", kind: "Pod", metadata: { generateName: "web-" }, spec },
    want: { apiVersion: "v1", kind: "Pod", metadata: { generateName: "web-" }, spec: injected },
    of: "v1 Pod /web",
  },
  {
    name: "a Deployment, whose template has no metadata",
    object: { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { replicas: 2, template: { spec } } },
    want: {
      ...{ apiVersion: "apps/v1", kind: "Deployment", metadata },
      spec: { replicas: 2, template: { metadata: {}, spec: injected } },
    },
    of: "apps/v1 Deployment shop/web",
  },
  {
    name: "a CronJob, by the metadata of its job",
    object: {
      ...{ apiVersion: "batch/v1", kind: "CronJob" },
      spec: {
        schedule: "@daily",
        jobTemplate: { metadata: { labels: { a: "b" } }, spec: { parallelism: 1, template: { spec } } },
      },
    },
    want: {
      ...{ apiVersion: "batch/v1", kind: "CronJob" },
      spec: {
        schedule: "@daily",
        jobTemplate: { metadata: { labels: { a: "b" } }, spec: { parallelism: 1, template: { spec: injected } } },
      },
    },
    of: "batch/v1 CronJob /",
  },
  {
    name: "a DeploymentConfig, whose other fields stay",
    object: {
      ...{ apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", metadata },
      spec: { triggers: [{ type: "ConfigChange" }], test: false, strategy: { type: "Rolling" }, template: { spec } },
    },
    want: {
      ...{ apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", metadata },
      spec: {
        ...{ triggers: [{ type: "ConfigChange" }], test: false, strategy: { type: "Rolling" } },
        template: { metadata: {}, spec: injected },
      },
    },
    of: "apps.openshift.io/v1 DeploymentConfig shop/web",
  },
  {
    name: "a Pod that somebody owns",
    object: { kind: "Pod", metadata: owned, spec },
    want: { kind: "Pod", metadata: owned, spec: injected },
    of: "x.example/v1 Game /chess",
  },
  {
    name: "the items of a list",
    object: { kind: "List", items: [{ apiVersion: "v1", kind: "Pod", metadata, spec }, { kind: "ConfigMap" }] },
    want: { kind: "List", items: [{ apiVersion: "v1", kind: "Pod", metadata, spec: injected }, { kind: "ConfigMap" }] },
    of: "v1 Pod shop/web",
  },
];

const untouched: readonly Json[] = [
  { kind: "ConfigMap", data: {} },
  { kind: "Deployment", spec: { template: null } },
  { kind: "Deployment", spec: { template: ["a"] } },
  { kind: "Deployment", spec: { template: "text" } },
  { apiVersion: "serving.knative.dev/v1", kind: "Service", spec: { template: { spec: { containers: [] } } } },
  { kind: "List", items: [null, "text", 1] },
  { kind: "Pod", metadata },
  { kind: "Pod", spec: null },
  { kind: "CronJob", spec: { jobTemplate: { spec: { template: {} } } } },
  { kind: "CronJob" },
  { kind: "List", items: "none" },
];

describe("injection into a workload", () => {
  for (const { name, object, want, of } of cases)
    it(`finds the pod of ${name}`, () => {
      const { result, workloads } = inject(object);
      assert.deepEqual(result, want);
      const reported = workloads.map(
        ({ apiVersion, kind, name: own, namespace }) => `${apiVersion} ${kind} ${namespace}/${own}`,
      );
      assert.deepEqual(reported, [of]);
    });
  for (const object of untouched)
    it(`leaves ${JSON.stringify(object)} as it is`, () =>
      assert.deepEqual(inject(object), { result: object, workloads: [] }));
  it("leaves a pod as it is that is not to be injected", () => {
    const object = { kind: "Pod", spec };
    assert.deepEqual(
      injectWorkload(object, () => undefined),
      object,
    );
  });
});

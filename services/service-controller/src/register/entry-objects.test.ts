/** WorkloadEntries of machines as objects: their owners, their content, and their health. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject as ApiObject } from "@flotilla/kube-api";
import {
  controllerAnnotation,
  disconnectedAnnotation,
  groupAnnotation,
  registrationController,
} from "@flotilla/registry/convert";
import {
  entryObject,
  entryPath,
  groupPath,
  healthOf,
  isLeftBehind,
  isOurs,
  isRegistration,
  saysTheSame,
  statusWithHealth,
} from "./entry-objects.ts";

const objectWith = (annotations?: Readonly<Record<string, string>>): ApiObject =>
  ({ metadata: { name: "m", ...(annotations && { annotations }) } }) as ApiObject;
const group = { [groupAnnotation]: "g" };
const ours = { ...group, [controllerAnnotation]: registrationController };
const left = (ms: number) => ({ ...group, [disconnectedAnnotation]: new Date(ms).toISOString() });

const owners: readonly (readonly [string, ApiObject, boolean, boolean, boolean])[] = [
  ["of no controller", objectWith(), false, false, false],
  ["ours", objectWith(ours), true, true, false],
  ["ours that left", objectWith({ ...ours, ...left(0) }), true, true, false],
  ["ours without a group", objectWith({ [controllerAnnotation]: registrationController }), false, false, false],
  ["another's that may be connected", objectWith(group), true, false, false],
  ["another's that left long ago", objectWith(left(0)), true, false, true],
  ["another's that left just now", objectWith(left(9_500)), true, false, false],
];

describe("a WorkloadEntry", () => {
  for (const [name, object, registered, own, behind] of owners)
    it(`is ${name}`, () =>
      assert.deepEqual(
        [isRegistration(object), isOurs(object), isLeftBehind(object, 10_000, 1_000)],
        [registered, own, behind],
      ));
  it("stands below its namespace, like its group", () => {
    assert.equal(
      entryPath({ kind: "WorkloadEntry", namespace: "shop", name: "m" }),
      "/apis/networking.istio.io/v1/namespaces/shop/workloadentries/m",
    );
    assert.equal(groupPath("shop", "g"), "/apis/networking.istio.io/v1/namespaces/shop/workloadgroups/g");
  });
});

const config = {
  key: { kind: "WorkloadEntry", namespace: "shop", name: "m" },
  ...{ labels: { a: "b" }, annotations: { c: "d" }, spec: { address: "10.0.0.1" }, creationTimeMs: 0 },
};
const wanted = entryObject(config, { metadata: { name: "g", uid: "u" } } as ApiObject);
const withMetadata = (change: object) => ({ ...wanted, metadata: { ...wanted.metadata, ...change } });

describe("the object of an entry", () => {
  it("goes with its group", () =>
    assert.deepEqual(wanted.metadata.ownerReferences, [
      { apiVersion: "networking.istio.io/v1", kind: "WorkloadGroup", name: "g", uid: "u", controller: true },
    ]));
  it("is written again only where it differs", () => {
    assert.equal(saysTheSame(wanted, withMetadata({ resourceVersion: "7" })), true);
    const others = [
      withMetadata({ labels: {} }),
      withMetadata({ annotations: undefined }),
      withMetadata({ ownerReferences: [{ uid: "v" }] }),
      { ...wanted, spec: { address: "10.0.0.2" } },
    ];
    assert.deepEqual(
      others.map((other) => saysTheSame(wanted, other as typeof wanted)),
      [false, false, false, false],
    );
  });
});

describe("the health in a status", () => {
  const nowMs = Date.UTC(2026, 0);
  const ready = { type: "Ready", status: "True" };
  const healthy = { type: "Healthy", status: "True", lastTransitionTime: "before" };

  it("is one of its conditions", () => {
    assert.deepEqual(healthOf({ conditions: [ready, healthy] }), healthy);
    assert.equal(healthOf(undefined), undefined);
  });
  it("is not written when it says the same", () => {
    assert.equal(statusWithHealth({ conditions: [healthy] }, { type: "Healthy", status: "True" }, nowMs), undefined);
    assert.equal(
      statusWithHealth({ conditions: [healthy] }, { type: "Healthy", status: "True", message: "" }, nowMs),
      undefined,
    );
  });
  it("replaces the one before, the time of its change too", () => {
    const status = { observedGeneration: 1, conditions: [healthy, ready] };
    const sick = { type: "Healthy", status: "False", message: "port closed" };
    assert.deepEqual(statusWithHealth(status, sick, nowMs), {
      observedGeneration: 1,
      conditions: [ready, { ...sick, lastTransitionTime: "2026-01-01T00:00:00.000Z" }],
    });
  });
  it("keeps the time of its change where only the message differs", () => {
    const reported = { type: "Healthy", status: "True", message: "slow" };
    assert.deepEqual(statusWithHealth({ conditions: [healthy] }, reported, nowMs), {
      conditions: [{ ...reported, lastTransitionTime: "before" }],
    });
    assert.deepEqual(statusWithHealth(undefined, reported, nowMs), {
      conditions: [{ ...reported, lastTransitionTime: "2026-01-01T00:00:00.000Z" }],
    });
  });
});

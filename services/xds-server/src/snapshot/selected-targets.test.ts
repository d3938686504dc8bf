import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, Service } from "@flotilla/model";
import { aMesh, anEndpoint, aPort, apply, aService, aSidecar } from "../testing/mesh.ts";

function selecting(name: string, selector: Record<string, string>, targetPorts: Record<number, string> = {}): Service {
  const traits = { type: "ClusterIP", nodeLocal: false, publishNotReadyAddresses: false, headless: false, targetPorts };
  return aService(name, "n", { labelSelectors: selector, kubernetes: traits });
}

const app = { app: "web" };

test("a service that selects a workload counts before it has an endpoint", () => {
  const core = aMesh(selecting("a", app, { 80: "8080" }));
  const target = { namespace: "n", hostname: "a.n.svc.cluster.local", port: 80, portName: "http", targetPort: 8080 };
  assert.deepEqual(core.subjectOf(aSidecar("n")).targets, [target]);
  assert.deepEqual(core.subjectOf(aSidecar("other")).targets, [], "of another namespace");
  assert.deepEqual(core.subjectOf(aSidecar("n", { CLUSTER_ID: "far" })).targets, [], "of another cluster");
});

test("every label of the selector must match, and a changed selector lets go", () => {
  const core = aMesh(selecting("a", { ...app, tier: "x" }));
  const proxy = aSidecar("n", { LABELS: { app: "web", tier: "x" } });
  assert.equal(core.subjectOf(proxy).targets.length, 1);
  assert.equal(core.subjectOf(aSidecar("n")).targets.length, 0);
  apply(core, selecting("a", { app: "other" }));
  assert.equal(core.subjectOf(proxy).targets.length, 0);
  apply(core, selecting("a", { tier: "x" }));
  assert.equal(core.subjectOf(proxy).targets.length, 1);
});

test("a target port by name is one of the workload's ports, of the same transport", () => {
  const POD_PORTS = '[{"name":"web","containerPort":8080,"protocol":"TCP"}]';
  const proxy = aSidecar("n", { POD_PORTS });
  const byName = selecting("a", app, { 80: "web" });
  assert.deepEqual(
    aMesh(byName)
      .subjectOf(proxy)
      .targets.map(({ targetPort }) => targetPort),
    [8080],
  );
  assert.deepEqual(aMesh({ ...byName, ports: [aPort("dns", 80, "UDP")] }).subjectOf(proxy).targets, []);
  assert.deepEqual(aMesh(selecting("a", app, { 80: "absent" })).subjectOf(proxy).targets, []);
});

test("endpoints of services without a selector do not count beside a service that selects", () => {
  const bare = aService("bare", "n");
  const endpoints: Change = {
    type: "endpoints",
    op: "put",
    key: { shard: "Kubernetes/Kubernetes", namespace: "n", hostname: bare.hostname },
    value: [anEndpoint("10.0.0.1")],
  };
  const core = aMesh(bare);
  core.apply([endpoints]);
  const hosts = () => core.subjectOf(aSidecar("n")).targets.map(({ hostname }) => hostname);
  assert.deepEqual(hosts(), ["bare.n.svc.cluster.local"]);
  apply(core, selecting("a", app));
  assert.deepEqual(hosts(), ["a.n.svc.cluster.local"]);
});

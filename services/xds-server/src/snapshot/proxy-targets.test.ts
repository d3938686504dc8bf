import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, Endpoint } from "@flotilla/model";
import { Core } from "../app/core.ts";
import { aMesh, aPort, apply, aService, aSidecar } from "../testing/mesh.ts";

const endpoint: Endpoint = {
  addresses: ["10.0.0.1"],
  servicePortName: "http",
  port: 8080,
  labels: {},
  serviceAccount: "",
  network: "",
  locality: "",
  clusterId: "Kubernetes",
  weight: 0,
  tlsMode: "disabled",
  namespace: "n",
  workloadName: "a",
  health: "healthy",
};

test("of a host that a ServiceEntry has too, a pod stands for the ports of the Service", () => {
  const service = aService("a", "n");
  const entry = aService("a", "n", { registry: "External", name: "e", ports: [aPort("http", 8888, "HTTP")] });
  const core = aMesh(service, entry);
  const key = { shard: "Kubernetes/Kubernetes", namespace: "n", hostname: service.hostname };
  const change: Change = { type: "endpoints", op: "put", key, value: [endpoint] };
  core.apply([change]);
  const { targets } = core.subjectOf(aSidecar("n"));
  assert.deepEqual(targets, [
    { namespace: "n", hostname: service.hostname, port: 80, portName: "http", targetPort: 8080 },
  ]);
});

test("of two ports of a Service on one port of the pod the first counts, of another protocol both do", () => {
  const ports = [aPort("http", 80, "HTTP"), aPort("again", 81, "HTTP"), aPort("tcp", 82, "TCP")];
  const [targetPorts, labelSelectors] = [{ 80: "8080", 81: "8080", 82: "8080" }, { app: "web" }];
  const service = aService("a", "n", { ports, labelSelectors, kubernetes: { targetPorts } as never });
  const { targets } = aMesh(service).subjectOf(aSidecar("n"));
  assert.deepEqual(
    targets.map(({ port, targetPort }) => [port, targetPort]),
    [
      [80, 8080],
      [82, 8080],
    ],
  );
});

test("a proxy is where its registry has it, else where its labels or its own words say", () => {
  const service = aService("a", "n");
  const core = aMesh(service);
  const key = { shard: "Kubernetes/Kubernetes", namespace: "n", hostname: service.hostname };
  const labels = { "topology.kubernetes.io/region": "r2", "topology.kubernetes.io/zone": "z2" };
  const [plain, labelled] = [aSidecar("n"), aSidecar("n", { LABELS: labels })];
  assert.equal(core.subjectOf(plain).locality, undefined);
  assert.deepEqual(core.subjectOf(labelled).locality, { region: "r2", zone: "z2", subzone: "" });
  core.apply([{ type: "endpoints", op: "put", key, value: [{ ...endpoint, locality: "r1/z1" }] }]);
  for (const proxy of [plain, labelled])
    assert.deepEqual(core.subjectOf(proxy).locality, { region: "r1", zone: "z1", subzone: "" });
  const elsewhere = aSidecar("n", { CLUSTER_ID: "another" });
  assert.equal(core.subjectOf(elsewhere).locality, undefined, "an address of another cluster is another pod");
});

test("a machine has the Services that select its WorkloadEntry, or those that its own labels match where none may", () => {
  const [web, other] = ["web", "other"].map((name) =>
    aService(name, "n", {
      ...(name === "web" && { labelSelectors: { app: "web" } }),
      kubernetes: { targetPorts: {} } as never,
    }),
  );
  assert.ok(web !== undefined && other !== undefined);
  const hostsOf = (servicesSelectWorkloadEntries: boolean) => {
    const core = new Core({ features: { servicesSelectWorkloadEntries } });
    apply(core, web, other);
    const key = { shard: "External/Kubernetes", namespace: "n", hostname: other.hostname };
    const value = [{ ...endpoint, labels: { app: "web" }, definedBy: "WorkloadEntry/n/a" }];
    assert.deepEqual(core.apply([{ type: "endpoints", op: "put", key, value }]), []);
    return core.subjectOf(aSidecar("n")).targets.map(({ hostname }) => hostname);
  };
  assert.deepEqual(hostsOf(true), [other.hostname]);
  assert.deepEqual(hostsOf(false), [other.hostname, web.hostname]);
});

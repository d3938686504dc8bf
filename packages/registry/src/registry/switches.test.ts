import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultRegistrySettings, type RegistrySettings } from "../settings.ts";
import { Registry } from "./registry.ts";
import { config, pod, put, service, slice } from "./sample-objects.fixture.ts";

/** Addresses by host. */
function endpoints(settings: Partial<RegistrySettings>): Readonly<Record<string, readonly string[]>> {
  const one = new Registry({ ...defaultRegistrySettings, ...settings });
  const ports = [{ number: 80, name: "http" }];
  const workloadSelector = { labels: { app: "a" } };
  one.apply([
    put(service("a")),
    put(pod("p", "10.1.0.1", { app: "a" })),
    config("WorkloadEntry", "vm", { address: "10.2.0.1", labels: { app: "a" } }),
    config("ServiceEntry", "e", { hosts: ["e.example"], ports, resolution: "STATIC", workloadSelector }),
  ]);
  return Object.fromEntries(
    one.state().flatMap((change) => {
      if (change.type !== "endpoints" || change.op === "delete") return [];
      return [[change.key.hostname, change.value.flatMap(({ addresses }) => addresses)]];
    }),
  );
}

const host = "a.n.svc.cluster.local";

test("a Service selects WorkloadEntries, a ServiceEntry pods and WorkloadEntries", () => {
  assert.deepEqual(endpoints({}), { [host]: ["10.2.0.1"], "e.example": ["10.1.0.1", "10.2.0.1"] });
});

test("PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES=false leaves Services their pods", () => {
  assert.deepEqual(endpoints({ servicesSelectWorkloadEntries: false }), { "e.example": ["10.1.0.1", "10.2.0.1"] });
});

test("PILOT_ENABLE_SERVICEENTRY_SELECT_PODS=false leaves ServiceEntries their WorkloadEntries", () => {
  assert.deepEqual(endpoints({ serviceEntriesSelectPods: false }), { [host]: ["10.2.0.1"], "e.example": ["10.2.0.1"] });
});

test("a workload that is labelled as draining drains, a pod as a machine; losing it so is urgent", () => {
  const one = new Registry(defaultRegistrySettings);
  const health = () =>
    one
      .state()
      .flatMap((change) =>
        change.type === "endpoints" && change.op === "put" ? change.value.map((endpoint) => endpoint.health) : [],
      );
  one.apply([put(service("a")), put(pod("p", "10.1.0.1")), put(slice("a-1", "a", { p: "10.1.0.1" }))]);
  assert.deepEqual(health(), ["healthy"]);
  const { urgent } = one.apply([put(pod("p", "10.1.0.1", { "istio.io/draining": "true" }))]);
  assert.deepEqual([urgent, health()], [true, ["draining"]]);
  one.apply([put(pod("p", "10.1.0.1", { "istio.io/draining": "" }))]);
  assert.deepEqual(health(), ["healthy"]);
  const labels = { app: "a", "istio.io/draining": "yes" };
  one.apply([config("WorkloadEntry", "vm", { address: "10.2.0.1", labels })]);
  assert.deepEqual(health(), ["healthy", "draining"]);
});

/** The values of the mesh's gauges, by their text as Prometheus reads it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Finding } from "@flotilla/incremental";
import type { Change, Endpoint, Service } from "@flotilla/model";
import { createMetrics } from "@flotilla/runtime";
import { aConfig, anEndpoint, aService, put } from "../testing/mesh.ts";
import { declareMeshMetrics } from "./mesh-metrics.ts";

function endpointsOf(service: Service, shard: string, ...value: readonly Endpoint[]): Change {
  const { namespace, hostname, name } = service;
  return { type: "endpoints", op: "put", key: { shard, namespace, hostname, name }, value } as Change;
}

const finding = (metric: string, object: string): Finding => ({ metric, object, message: object });
const a = aService("a", "shop");
const dns = aService("d", "shop", { resolution: "dns" });
const roundRobin = aService("r", "shop", { resolution: "dns-round-robin" });

function gauges(inputs: readonly Change[], findings: readonly Finding[] = [], unselected: readonly Finding[] = []) {
  const metrics = createMetrics();
  let nowMs = 10_000;
  const current = { inputs };
  declareMeshMetrics(metrics, {
    inputs: () => current.inputs,
    findings: () => findings,
    unselected: () => unselected,
    withoutServices: () => 3,
    version: "1.2.3",
    nowMs: () => nowMs,
  });
  return {
    current,
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** The value of a series, by its name with labels. */
    read: async (series: string) => {
      const line = (await metrics.text()).split("\n").find((one) => one.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length + 1));
    },
  };
}

const cases: readonly {
  readonly name: string;
  readonly inputs: readonly Change[];
  readonly want: Readonly<Record<string, number>>;
}[] = [
  {
    name: "of an empty mesh are 0",
    inputs: [],
    want: {
      pilot_services: 0,
      pilot_virt_services: 0,
      'istiod_managed_clusters{cluster_type="local"}': 0,
      'istiod_managed_clusters{cluster_type="remote"}': 0,
      'pilot_info{version="1.2.3"}': 1,
    },
  },
  {
    name: "count a service once, in however many clusters it is",
    inputs: [
      ...put(a),
      ...put(a).map((change) => ({ ...change, key: { ...change.key, shard: "Kubernetes/two" } }) as Change),
    ],
    want: {
      pilot_services: 1,
      'istiod_managed_clusters{cluster_type="local"}': 1,
      'istiod_managed_clusters{cluster_type="remote"}': 1,
    },
  },
  {
    name: "count VirtualServices, and no other objects as such",
    inputs: put(aConfig("VirtualService", "shop", "a", {}), aConfig("DestinationRule", "shop", "a", {})),
    want: { pilot_virt_services: 1 },
  },
  {
    name: "services without an endpoint, those of DNS apart",
    inputs: [
      ...put(a, dns, roundRobin),
      endpointsOf(a, "Kubernetes/one", anEndpoint("10.0.0.1")),
      endpointsOf(dns, "x/y"),
    ],
    want: { pilot_services: 3, pilot_eds_no_instances: 2, pilot_dns_cluster_without_endpoints: 2 },
  },
  {
    name: "endpoints that are not healthy, and those without an address",
    inputs: [
      ...put(a),
      endpointsOf(
        a,
        "Kubernetes/one",
        anEndpoint("10.0.0.1"),
        anEndpoint("10.0.0.2", { health: "unknown" }),
        anEndpoint("10.0.0.3", { health: "unhealthy" }),
        anEndpoint("10.0.0.4", { health: "draining", addresses: [] }),
      ),
    ],
    want: { pilot_endpoint_not_ready: 2, pilot_no_ip: 1, pilot_eds_no_instances: 0 },
  },
];

describe("gauges of the mesh", () => {
  for (const { name, inputs, want } of cases)
    it(name, async () => {
      const { read } = gauges(inputs);
      const found = await Promise.all(Object.keys(want).map(async (series) => [series, await read(series)] as const));
      assert.deepEqual(Object.fromEntries(found), want);
    });

  it("count findings by object, each in its own gauge", async () => {
    const twice = finding("pilot_vservice_dup_domain", "VirtualService/shop/a");
    const findings = [twice, { ...twice, message: "another domain" }, finding("pilot_destrule_subsets", "b")];
    const { read } = gauges([], findings, [finding("flotilla_selects_no_workload", "Sidecar/shop/s")]);
    assert.equal(await read("pilot_vservice_dup_domain"), 1);
    assert.equal(await read("pilot_destrule_subsets"), 1);
    assert.equal(await read("pilot_duplicate_envoy_clusters"), 0);
    assert.equal(await read("flotilla_selects_no_workload"), 1);
    assert.equal(await read('pilot_k8s_proxies_with_no_service_targets{reason="no_matching_services"}'), 3);
  });

  it("count the mesh anew once a count is a tenth of a second old", async () => {
    const { current, pass, read } = gauges([]);
    assert.equal(await read("pilot_services"), 0);
    current.inputs = put(a);
    pass(99);
    assert.equal(await read("pilot_services"), 0);
    pass(1);
    assert.equal(await read("pilot_services"), 1);
    assert.equal(await read("istiod_uptime_seconds"), 0.1);
  });
});

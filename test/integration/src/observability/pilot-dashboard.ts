/** The series, labels and functions that the queries of Istio's pilot dashboard use, by panel. */

export interface PilotQuery {
  readonly title: string;
  readonly expression: string;
  /** Shows what a cluster alone has. */
  readonly needsCluster?: boolean;
}

const rate = (name: string) => `rate(${name}[1m])`;
const ofIstiod = (name: string) => `sum by (pod) (${name}{app="istiod"})`;

export const pilotQueries: readonly PilotQuery[] = [
  { title: "Pilot Versions", expression: 'sum by (tag) (istio_build{component="pilot"})' },
  { title: "Memory Usage", expression: ofIstiod("go_memstats_heap_inuse_bytes") },
  { title: "Memory Usage", expression: ofIstiod("go_memstats_heap_alloc_bytes") },
  { title: "XDS Pushes", expression: "sum by (type) (irate(pilot_xds_pushes[1m]))" },
  { title: "Events", expression: `sum by (type, event) (${rate("pilot_k8s_reg_events")})`, needsCluster: true },
  { title: "Events", expression: `sum by (type, event) (${rate("pilot_k8s_cfg_events")})`, needsCluster: true },
  { title: "Events", expression: `sum by (type) (${rate("pilot_push_triggers")})` },
  { title: "Connections", expression: "sum (pilot_xds)" },
  { title: "Push Errors", expression: "sum by (type) (pilot_total_xds_rejects)" },
  { title: "Push Errors", expression: "pilot_total_xds_internal_errors" },
  { title: "Push Time", expression: `sum by (le) (${rate("pilot_xds_push_time_bucket")})` },
  { title: "Push Size", expression: `sum by (le) (${rate("pilot_xds_config_size_bytes_bucket")})` },
  { title: "Validation", expression: `sum (${rate("galley_validation_passed")})` },
  { title: "Validation", expression: `sum (${rate("galley_validation_failed")})` },
  { title: "Injection", expression: `sum (${rate("sidecar_injection_success_total")})` },
  { title: "Injection", expression: `sum (${rate("sidecar_injection_failure_total")})` },
];

/** Series that the others ask for, and why they have no data here. */
export const notApplicable: Readonly<Record<string, string>> = {
  container_memory_working_set_bytes: "kubelet's, of a container named discovery",
  container_cpu_usage_seconds_total: "kubelet's, of a container named discovery",
  go_memstats_stack_inuse_bytes: "stacks of goroutines",
  go_memstats_alloc_bytes_total: "bytes that Go's allocator handed out; V8 counts none",
  go_memstats_mallocs_total: "objects that Go's allocator handed out; V8 counts none",
  go_goroutines: "goroutines",
  envoy_cluster_upstream_cx_active: "of proxies, with the label cluster_name that pilot-agent's bootstrap gives",
};

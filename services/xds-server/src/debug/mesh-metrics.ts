/** Gauges of the mesh as it is: its size, and conflicts found in what is generated. Names are istiod's where it has one. */
import type { Finding } from "@flotilla/incremental";
import { type Change, type Proxy, parseShard } from "@flotilla/model";
import type { Metrics } from "@flotilla/runtime";
import { selectsNothing } from "./unselected.ts";

export interface MeshMetricSources {
  /** The changes in force now, each key once. */
  readonly inputs: () => Iterable<Change>;
  readonly findings: () => readonly Finding[];
  readonly unselected: () => readonly Finding[];
  /** Connected proxies before whose workload no service stands. */
  readonly withoutServices: () => number;
  readonly version: string;
  readonly nowMs: () => number;
}

/** Findings are counted by object; with none the gauge reports 0. */
const findingGauges = {
  pilot_vservice_dup_domain: "VirtualServices and services whose domain has routes already",
  pilot_total_rejected_configs: "Gateways of which a server conflicts with an older one",
  pilot_destrule_subsets: "DestinationRules with subsets that another rule of the host has",
  pilot_conflict_inbound_listener: "Service ports of one workload port that need listeners of different kinds",
  pilot_conflict_outbound_listener_tcp_over_current_tcp: "TCP services on an address and port that is taken by another",
  pilot_conflict_outbound_listener_http_over_current_tcp: "HTTP services on an address and port that is taken by TCP",
  pilot_duplicate_envoy_clusters: "Clusters of one name",
  pilot_sds_certificate_errors_total: "Secrets that proxies ask for and cannot have",
  flotilla_missing_issuer_keys: "RequestAuthentications with issuers whose keys could not be fetched",
  flotilla_unresolved_network_gateway: "Networks with a gateway that is a host name",
  flotilla_unusable_extension: "WasmPlugins and TrafficExtensions that cannot be served as written",
  flotilla_unknown_destination: "VirtualServices with routes that lead to no known service or subset",
  flotilla_failed_resource: "Resources of connected proxies that cannot be made",
  flotilla_foreign_host: "VirtualServices that route hosts of other namespaces for the mesh",
} as const;

/** Callers such as ztunnels and gRPC programs stand before no workload port of their own. */
export function mayHaveServices({ type }: Pick<Proxy, "type">): boolean {
  return type === "sidecar" || type === "router";
}

const countLivesMs = 100;

export function declareMeshMetrics(metrics: Metrics, sources: MeshMetricSources): void {
  const { inputs, findings, unselected, withoutServices, version, nowMs } = sources;
  const startedMs = nowMs();
  const gauge = (name: string, help: string, value: () => number) =>
    metrics.gauge({ name, help, collect: (one) => one.set(value()) });
  // All gauges of one reading are of one count.
  let [counts, countedMs] = [countOf([]), Number.NEGATIVE_INFINITY];
  const countsNow = (): Counts => {
    if (nowMs() - countedMs >= countLivesMs) [counts, countedMs] = [countOf(inputs()), nowMs()];
    return counts;
  };
  const counted = (name: string, help: string, count: keyof Counts) => gauge(name, help, () => countsNow()[count]);
  counted("pilot_services", "Services known", "services");
  counted("pilot_virt_services", "VirtualServices known", "virtualServices");
  counted("pilot_eds_no_instances", "Services without an endpoint", "withoutEndpoints");
  counted(
    "pilot_dns_cluster_without_endpoints",
    "Services to be resolved by DNS that name no host",
    "dnsWithoutEndpoints",
  );
  counted("pilot_endpoint_not_ready", "Endpoints that are not healthy", "unhealthyEndpoints");
  counted("pilot_no_ip", "Endpoints without an address", "withoutAddress");
  gauge("istiod_uptime_seconds", "Seconds since the start", () => (nowMs() - startedMs) / 1000);
  metrics.gauge({
    name: "istiod_managed_clusters",
    help: "Clusters that services and endpoints come from",
    labels: ["cluster_type"],
    collect: (one) => {
      const { clusters } = countsNow();
      one.set(Math.min(clusters, 1), { cluster_type: "local" });
      one.set(Math.max(clusters - 1, 0), { cluster_type: "remote" });
    },
  });
  metrics.gauge({
    name: "pilot_k8s_proxies_with_no_service_targets",
    help: "Connected sidecars and gateways whose workload belongs to no service",
    labels: ["reason"],
    collect: (one) => one.set(withoutServices(), { reason: "no_matching_services" }),
  });
  gauge(selectsNothing, "Objects for selected workloads that select none that is known", () => unselected().length);
  metrics
    .gauge({ name: "istio_build", help: "Build of the control plane", labels: ["component", "tag"] })
    .set(1, { component: "pilot", tag: version });
  metrics.gauge({ name: "pilot_info", help: "Version of xds-server", labels: ["version"] }).set(1, { version });
  for (const [name, help] of Object.entries(findingGauges)) {
    gauge(name, help, () => new Set(findings().flatMap((found) => (found.metric === name ? [found.object] : []))).size);
  }
}

interface Counts {
  readonly services: number;
  readonly virtualServices: number;
  readonly withoutEndpoints: number;
  readonly dnsWithoutEndpoints: number;
  readonly unhealthyEndpoints: number;
  readonly withoutAddress: number;
  readonly clusters: number;
}

function countOf(inputs: Iterable<Change>): Counts {
  const services = new Map<string, { readonly isDns: boolean }>();
  const [withEndpoints, clusters] = [new Set<string>(), new Set<string>()];
  let [virtualServices, unhealthyEndpoints, withoutAddress] = [0, 0, 0];
  for (const change of inputs) {
    if (change.op !== "put") continue;
    if (change.type === "config") {
      if (change.key.kind === "VirtualService") virtualServices++;
      continue;
    }
    if (change.type === "workload") continue;
    const { hostname, namespace, shard } = change.key;
    const name = `${namespace}/${hostname}`;
    clusters.add(parseShard(shard).clusterId);
    if (change.type === "service") services.set(name, { isDns: change.value.resolution.startsWith("dns") });
    else if (change.value.length > 0) withEndpoints.add(name);
    if (change.type !== "endpoints") continue;
    for (const { health, addresses } of change.value) {
      if (health !== "healthy" && health !== "unknown") unhealthyEndpoints++;
      if (addresses.length === 0) withoutAddress++;
    }
  }
  const empty = [...services].filter(([name]) => !withEndpoints.has(name));
  return {
    services: services.size,
    virtualServices,
    withoutEndpoints: empty.length,
    dnsWithoutEndpoints: empty.filter(([, { isDns }]) => isDns).length,
    unhealthyEndpoints,
    withoutAddress,
    clusters: clusters.size,
  };
}

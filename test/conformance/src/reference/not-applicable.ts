/** Names of istiod that have no meaning here, each with the reason. */
import { discoveryFlags } from "../../../../packages/cli/src/discovery/flags.ts";
import type { NamesByKind } from "./kinds.ts";

const proxySide = "read by pilot-agent and the proxies that it starts, which are Istio's own";
const compiled = "about the Go program: its scheduler, its encoder or its client of Kubernetes";
const cache = "results are kept by what they were made of; there is no cache to bound or to switch off";
const scopes = "what a proxy may see is computed once for all proxies that see the same, when it is asked for";
const sharded = "services have no controller queues: changes are merged by key";
const pods = "endpoints come with their pods from one place; none waits for its pod";
const cni = "nodes and pods of istio-cni are not dealt with";
const agents = "`flotilla` asks no control plane of another revision for this";

/** One reason for several names. */
function all(reason: string, ...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

export const notApplicable: NamesByKind<Readonly<Record<string, string>>> = {
  environment: {
    ...all(
      proxySide,
      ...["BLOCKED_CIDRS_IN_WASM_FETCH", "ENABLE_PROBE_KEEPALIVE_CONNECTIONS", "INBOUND_INTERCEPTION_MODE"],
      ...["INBOUND_TPROXY_MARK", "ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION", "ISTIO_ENABLE_HTTP2_PROBING"],
      ...["ISTIO_OUTBOUND_IPV4_LOOPBACK_CIDR", "ISTIO_OUTBOUND_OWNER_GROUPS", "ISTIO_OUTBOUND_OWNER_GROUPS_EXCLUDE"],
      ...["ISTIO_PROMETHEUS_ANNOTATIONS", "ISTIO_WASM_MAX_BINARY_SIZE_BYTES", "METRICS_LOCALHOST_ACCESS_ONLY"],
      ...["PILOT_AGENT_MERGE_ENVOY_STATS", "REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION"],
      "ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL",
    ),
    ...all(
      compiled,
      ...["ENABLE_VTPROTOBUF", "ISTIO_KUBE_CLIENT_CONTENT_TYPE", "MUTEX_PROFILE_FRACTION"],
      ...["PILOT_STATUS_MAX_WORKERS", "UNSAFE_PILOT_ENABLE_RUNTIME_ASSERTIONS"],
    ),
    ...all(
      cache,
      ...["PILOT_ENABLE_XDS_CACHE", "PILOT_ENABLE_CDS_CACHE", "PILOT_ENABLE_RDS_CACHE", "PILOT_XDS_CACHE_SIZE"],
      ...["PILOT_XDS_CACHE_INDEX_CLEAR_INTERVAL", "PILOT_XDS_CACHE_STATS"],
    ),
    ...all(
      scopes,
      ...["ENABLE_LAZY_SIDECAR_EVALUATION", "PILOT_CONVERT_SIDECAR_SCOPE_CONCURRENCY", "PILOT_UNIFIED_SIDECAR_SCOPE"],
      "AMBIENT_SCOPED_ADDRESS_PUSHES",
    ),
    ...all(cni, "PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS", "PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME"),
    ...all(
      "webhook writes into every configuration that leads to it, whatever its name",
      ...["INJECTION_WEBHOOK_CONFIG_NAME", "VALIDATION_WEBHOOK_CONFIG_NAME"],
    ),
    ...all("callers of the port with TLS always prove who they are", "XDS_AUTH", "PILOT_ENABLE_XDS_IDENTITY_CHECK"),
    CITADEL_ENABLE_JITTER_FOR_ROOT_CERT_ROTATOR:
      "replicas of ca renew the root by compare-and-set: they need no jitter",
    ENABLE_CA_SERVER: "ca is a service of its own: it is not installed where another CA signs",
    ISTIO_DELTA_XDS: "the client chooses the form of a stream; both are always served",
    ISTIO_ENABLE_CONTROLLER_QUEUE_METRICS: sharded,
    JWKS_RESOLVER_INSECURE_SKIP_VERIFY: "servers with keys of issuers are always verified; JWKS_CA_FILE adds roots",
    ENABLE_PROXY_FIND_POD_BY_IP: "the pod of a proxy is always found by the proxy's address",
    K_REVISION: "about pods of Knative",
    PILOT_ANALYSIS_INTERVAL: "objects are analyzed when they change, not at intervals",
    PILOT_ENABLE_AGENTGATEWAY:
      "agentgateway is a proxy of another kind with resources of its own; Envoys, ztunnels and gRPC programs are served",
    PILOT_ENABLE_EDS_DEBOUNCE: "endpoints that go are never held back by other changes",
    USE_REMOTE_CERTS:
      "about the CA of an istiod outside of its cluster: ca reads cacerts where CLUSTER_KUBECONFIG leads",
  },
  flags: Object.fromEntries(
    discoveryFlags.flatMap(({ name, effect }) => (effect.type === "none" ? [[`--${name}`, effect.reason]] : [])),
  ),
  pages: {
    ...all(
      "profiles are of V8: /profile/cpu and /profile/heap of the introspection pages, whose / lists them",
      ...["/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/symbol", "/debug/pprof/trace", "/debug/pprof/cmdline"],
    ),
    "/debug/adsz?push=true":
      "a push of all would send the same bytes: versions are hashes of content, and digests repair what a stream missed",
    "/debug/cachez?clear=true": cache,
    "/debug/cachez?sizes=true": "/debug/cachez shows how many results are kept; their size is not known",
    "/debug/krtz": "about a library of istiod; /debug/position has the counts of the graph here",
  },
  metrics: {
    ...all(sharded, ...["pilot_worker_queue_depth", "pilot_worker_queue_duration", "pilot_worker_queue_latency"]),
    ...all(cache, ...["xds_cache_dependent_config_size", "xds_cache_evictions", "xds_cache_reads", "xds_cache_size"]),
    ...all(pods, ...["endpoint_no_pod", "pilot_k8s_endpoints_pending_pod", "pilot_k8s_endpoints_with_no_pods"]),
    ...all(proxySide, ...["num_outgoing_retries", "scrape_failures_total", "scrapes_total"]),
    galley_validation_config_load_error: "the configuration of validation is read with the others, by its watch",
    provider_lookup_cluster_failures: "a provider that names no known service is a finding, counted among the others",
  },
  messages: all(agents, "IST0141", "IST0142", "IST0143", "IST0156", "IST0168", "IST0169", "IST0172"),
};

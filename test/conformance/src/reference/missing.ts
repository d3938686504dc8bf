/** Names of istiod that would have a meaning here and are not honoured yet, each with what happens instead. */
import { discoveryFlags } from "../../../../packages/cli/src/discovery/flags.ts";
import type { NamesByKind } from "./kinds.ts";

const defaulted = "proxies get what its default gives";
const counted = "not counted";

export const missing: NamesByKind<Readonly<Record<string, string>>> = {
  environment: {
    DISABLE_TRACK_REMAINING_CB_METRICS: defaulted,
    ENABLE_HCM_INTERNAL_NETWORKS: defaulted,
    ENABLE_LEADER_ELECTION: "replicas always elect one for each duty",
    ENABLE_PROXY_FIND_POD_BY_IP: "pods are found by their name",
    ENABLE_SELECTOR_BASED_K8S_GATEWAY_POLICY: defaulted,
    ENABLE_WILDCARD_HOST_SERVICE_ENTRIES_FOR_TLS: defaulted,
    EXTERNAL_ISTIOD: "CLUSTER_KUBECONFIG names the cluster; it is the only one whose roots and webhooks are written",
    ISTIO_ENABLE_IPV4_OUTBOUND_LISTENER_FOR_IPV6_CLUSTERS: defaulted,
    LOCAL_CLUSTER_SECRET_WATCHER: "Secrets of other clusters are read from the cluster of the configuration",
    PILOT_ENABLE_AGENTGATEWAY: "Gateways of that class are left alone",
    PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY: defaulted,
    PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS: defaulted,
    PILOT_ENABLE_STRICT_GATEWAY_MERGING: defaulted,
    PILOT_ENVOY_FILTER_STATS: counted,
    PILOT_MULTICLUSTER_KUBECONFIG_PATH: "other clusters are named by Secrets",
    PILOT_MX_ADDITIONAL_LABELS: defaulted,
    RESOLVE_HOSTNAME_GATEWAYS: defaulted,
    USE_CACERTS_FOR_SELF_SIGNED_CA: "CA_SELF_SIGNED_SECRET names the Secret",
  },
  flags: Object.fromEntries(
    discoveryFlags.flatMap(({ name, effect }) => (effect.type === "missing" ? [[`--${name}`, effect.note]] : [])),
  ),
  pages: {
    "/debug/adsz?push=true": "nothing is pushed without a change; a restart of a stream sends all it has anew",
    "/debug/inject": "the templates are in the ConfigMap that webhook reads",
    "/debug/mcsz": "ServiceExports and ServiceImports are among /debug/configz",
    "/debug/pushcontext": "/debug/configz and /debug/registryz have what it holds",
  },
  metrics: {
    ...Object.fromEntries(
      ["deletes", "errors", "success", "unregister", "updates"].map((what) => [
        `auto_registration_${what}_total`,
        counted,
      ]),
    ),
    controller_sync_errors_total: "errors of a cluster are the condition of its page",
    pilot_envoy_filter_status: "patches without an effect are findings",
    pilot_k8s_proxies_with_no_service_targets: counted,
    pilot_sds_certificate_errors_total: "Secrets that cannot be had are conditions of their Gateways",
    pilot_xds_recv_max: counted,
  },
  messages: {},
};

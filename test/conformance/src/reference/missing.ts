/** Names of istiod that would have a meaning here and are not honoured yet, each with what happens instead. */
import type { NamesByKind } from "./kinds.ts";

const counted = "not counted";

export const missing: NamesByKind<Readonly<Record<string, string>>> = {
  environment: {
    EXTERNAL_ISTIOD: "CLUSTER_KUBECONFIG names the cluster; it is the only one whose roots and webhooks are written",
    PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY: "WorkloadEntries of other clusters are not read",
    PILOT_ENVOY_FILTER_STATS: counted,
  },
  flags: {},
  pages: {},
  metrics: {
    pilot_envoy_filter_status: "patches without an effect are findings",
  },
  messages: {},
};

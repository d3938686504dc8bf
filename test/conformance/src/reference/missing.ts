/** Names of istiod that would have a meaning here and are not honoured yet, each with what happens instead. */
import { discoveryFlags } from "../../../../packages/cli/src/discovery/flags.ts";
import type { NamesByKind } from "./kinds.ts";

const counted = "not counted";

export const missing: NamesByKind<Readonly<Record<string, string>>> = {
  environment: {
    ENABLE_LEADER_ELECTION: "replicas always elect one for each duty",
    EXTERNAL_ISTIOD: "CLUSTER_KUBECONFIG names the cluster; it is the only one whose roots and webhooks are written",
    LOCAL_CLUSTER_SECRET_WATCHER: "Secrets of other clusters are read from the cluster of the configuration",
    PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY: "WorkloadEntries of other clusters are not read",
    PILOT_ENVOY_FILTER_STATS: counted,
    PILOT_MULTICLUSTER_KUBECONFIG_PATH: "other clusters are named by Secrets",
    USE_CACERTS_FOR_SELF_SIGNED_CA: "CA_SELF_SIGNED_SECRET names the Secret",
  },
  flags: Object.fromEntries(
    discoveryFlags.flatMap(({ name, effect }) => (effect.type === "missing" ? [[`--${name}`, effect.note]] : [])),
  ),
  pages: {
    "/debug/inject": "the templates are in the ConfigMap that webhook reads",
    "/debug/mcsz": "ServiceExports and ServiceImports are among /debug/configz",
    "/debug/pushcontext": "/debug/configz and /debug/registryz have what it holds",
  },
  metrics: {
    pilot_envoy_filter_status: "patches without an effect are findings",
  },
  messages: {},
};

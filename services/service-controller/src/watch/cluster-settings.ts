/** Settings of the clusters that are read, and of what several clusters have of each other. */
import { duration, flag, list, text } from "@flotilla/runtime";
import { usualMultiClusterApi } from "./cluster-connection.ts";

/** The settings for reading API servers. */
export const kubernetesSettings = {
  watchedNamespaces: list({
    env: "ISTIO_WATCH_NAMESPACE",
    default: [],
    sentence:
      "Namespaces whose services, endpoints and pods are read of clusters, separated by commas; none means all.",
  }),
  endpointSlices: flag({
    env: "PILOT_USE_ENDPOINT_SLICE",
    default: true,
    sentence: "Endpoints come from EndpointSlices; otherwise from the older Endpoints objects.",
  }),
  kubeSyncTimeoutMs: duration({
    env: "PILOT_REMOTE_CLUSTER_TIMEOUT",
    default: 30_000,
    sentence:
      "Maximum wait of the first snapshot for clusters; the last published state of an unreachable one stays then.",
  }),
} as const;

/** Settings for the connection of several clusters: gateways into their networks, and multi-cluster services. */
export const multiClusterSettings = {
  discoverGateways: flag({
    env: "PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API",
    default: true,
    sentence: "Gateways of other clusters' Gateway API that name addresses and their network lead into it.",
  }),
  crossClusterEntries: flag({
    env: "PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY",
    default: true,
    sentence:
      "WorkloadEntries of other clusters are read: Services of their cluster select them, and ServiceEntries of the own one.",
  }),
  revision: text({
    env: "REVISION",
    default: "default",
    sentence: "WorkloadEntries of other clusters with the label istio.io/rev are read only if it names this revision.",
  }),
  autoExport: flag({
    env: "ENABLE_MCS_AUTO_EXPORT",
    default: false,
    sentence: "ServiceExports are written for the services of each cluster, those left out that are cluster-local.",
  }),
  multiClusterGroup: text({
    env: "MCS_API_GROUP",
    default: usualMultiClusterApi.group,
    sentence: "The API group of ServiceExports and ServiceImports.",
  }),
  multiClusterVersion: text({
    env: "MCS_API_VERSION",
    default: usualMultiClusterApi.version,
    sentence: "Its version.",
  }),
} as const;

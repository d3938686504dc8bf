/** What several clusters have of each other: ways into their networks, and multi-cluster services. */
import { flag, text } from "@flotilla/runtime";
import { usualMultiClusterApi } from "./cluster-connection.ts";

export const multiClusterSettings = {
  discoverGateways: flag({
    env: "PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API",
    default: true,
    sentence: "Gateways of other clusters' Gateway API that name addresses and their network lead into it.",
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

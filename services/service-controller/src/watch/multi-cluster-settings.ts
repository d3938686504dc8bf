/** Multi-cluster services: what is written of them, and where API servers have their kinds. */
import { flag, text } from "@flotilla/runtime";
import { usualMultiClusterApi } from "./cluster-connection.ts";

export const multiClusterSettings = {
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

/** What is read of API servers. */
import { duration, flag, list } from "@flotilla/runtime";

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
    sentence: "How long the first snapshot waits for clusters; what was published of one that is away stays then.",
  }),
  insecureKubeconfigs: list({
    env: "PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS",
    default: [],
    sentence:
      "What kubeconfigs in Secrets may do that others do not: exec (run programs), clientKey, clientCertificate, tokenFile (name files).",
  }),
} as const;

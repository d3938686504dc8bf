/** The settings by which a service finds the API server of its cluster. */
import { type SettingsOf, text } from "@flotilla/runtime";
import { type KubeConfig, loadKubeConfig } from "./kube-config.ts";

export const apiServerSettings = {
  kubeconfig: text({
    env: "CLUSTER_KUBECONFIG",
    default: undefined,
    sentence: "A kubeconfig file of the cluster to work for; in a pod of the cluster none is needed.",
  }),
  kubeHost: text({
    env: "KUBERNETES_SERVICE_HOST",
    default: undefined,
    sentence: "Address of the API server, as Kubernetes tells it to pods.",
  }),
  kubePort: text({ env: "KUBERNETES_SERVICE_PORT", default: "443", sentence: "Port of the API server, likewise." }),
} as const;

export type ApiServerSettings = SettingsOf<typeof apiServerSettings>;

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export function clusterOf({ kubeconfig, kubeHost, kubePort }: ApiServerSettings): Promise<KubeConfig | undefined> {
  return loadKubeConfig({
    KUBECONFIG: kubeconfig,
    KUBERNETES_SERVICE_HOST: kubeHost,
    KUBERNETES_SERVICE_PORT: kubePort,
  });
}

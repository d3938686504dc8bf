/** The cluster that the settings name. */
import { type KubeConfig, loadKubeConfig } from "@flotilla/kube-api";
import type { Settings } from "../config.ts";

type Named = Pick<Settings, "kubeconfig" | "kubeHost" | "kubePort">;

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export function clusterOf({ kubeconfig, kubeHost, kubePort }: Named): Promise<KubeConfig | undefined> {
  return loadKubeConfig({
    KUBECONFIG: kubeconfig,
    KUBERNETES_SERVICE_HOST: kubeHost,
    KUBERNETES_SERVICE_PORT: kubePort,
  });
}

/** The cluster that ca works for, if there is one: it reviews tokens, keeps the self-signed root, and has signers of its own. */
import { readFile } from "node:fs/promises";
import { type KubeApi, loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";
import type { AuthenticatorParts } from "../authenticate/authenticators.ts";
import type { Config } from "../config.ts";
import type { DelegateOptions } from "../delegate/registration-authority.ts";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import { rootOnDisk, type SelfSignedStore } from "../roots/self-signed-store.ts";
import { requestFromSigner } from "./certificate-request.ts";
import { secretStore } from "./secret-store.ts";
import { tokenReviewer } from "./token-reviewer.ts";

export interface Cluster extends Disposable {
  readonly api: KubeApi;
  readonly clusters: AuthenticatorParts["clusters"];
  readonly store: SelfSignedStore;
}

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export async function openCluster(config: Config, log: Logger): Promise<Cluster | undefined> {
  const { kubeconfig, kubeHost, kubePort, clusterId, clusterAliases, maxReviews, namespace, rootSecret } = config;
  const found = await loadKubeConfig({
    KUBECONFIG: kubeconfig,
    KUBERNETES_SERVICE_HOST: kubeHost,
    KUBERNETES_SERVICE_PORT: kubePort,
  });
  if (found === undefined) return undefined;
  const api = openKubeApi(found);
  log.info("works for a cluster", { server: api.server, cluster: clusterId });
  const review = tokenReviewer(api, maxReviews);
  const aliases = new Map(clusterAliases.map((text) => text.split("=") as [string, string]));
  return {
    api,
    clusters: { clusterId, aliases, reviewerOf: (cluster) => (cluster === clusterId ? review : undefined) },
    store: secretStore({ api, namespace, name: rootSecret, seed: () => rootOnDisk(config.selfSignedDir) }),
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}

/** Signers of the cluster; without one, or without EXTERNAL_CA and CERT_SIGNER_DOMAIN, ca signs everything itself. */
export async function delegateOf(
  config: Config,
  cluster: Cluster | undefined,
  trust: MeshTrust,
  log: Logger,
): Promise<DelegateOptions> {
  const { externalCa, kubeSigner, signerDomain, signerRootFile } = config;
  const isDelegating = externalCa === "ISTIOD_RA_KUBERNETES_API";
  const fallback = isDelegating && kubeSigner !== undefined ? await rootsIn(signerRootFile, log) : undefined;
  return {
    defaultSigner: cluster !== undefined && isDelegating ? kubeSigner : undefined,
    signerDomain: cluster === undefined ? undefined : signerDomain,
    rootsOf: (signer) => trust.rootsOfSigner(signer) ?? (signer === kubeSigner ? fallback : undefined),
    request: (call) => {
      if (cluster === undefined) throw new TypeError("a signer is asked for without a cluster");
      return requestFromSigner(cluster.api, call, log);
    },
    nowMs: Date.now,
  };
}

async function rootsIn(file: string, log: Logger): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    log.warn("the roots of the signer cannot be read", { file, error });
    return undefined;
  }
}

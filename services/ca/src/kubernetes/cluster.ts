/** The cluster that ca works for, if there is one: it reviews tokens, keeps the self-signed root, and has signers of its own. */
import { readFile } from "node:fs/promises";
import { type OwnCluster, openOwnCluster } from "@flotilla/auth/cluster";
import type { Logger } from "@flotilla/runtime";
import type { Config } from "../config.ts";
import type { DelegateOptions } from "../delegate/registration-authority.ts";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import { rootOnDisk, type SelfSignedStore } from "../roots/self-signed-store.ts";
import { requestFromSigner } from "./certificate-request.ts";
import { secretStore } from "./secret-store.ts";

export interface Cluster extends OwnCluster {
  readonly store: SelfSignedStore;
}

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export async function openCluster(config: Config, log: Logger): Promise<Cluster | undefined> {
  const { namespace, rootSecret: name, selfSignedDir } = config;
  const own = await openOwnCluster(config);
  if (own === undefined) return undefined;
  log.info("works for a cluster", { server: own.api.server, cluster: config.clusterId });
  return { ...own, store: secretStore({ api: own.api, namespace, name, seed: () => rootOnDisk(selfSignedDir) }) };
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

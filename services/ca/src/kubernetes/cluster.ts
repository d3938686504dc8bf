/** The cluster that ca works for, if there is one: it reviews tokens, keeps the self-signed root, and has signers of its own. */
import { readFile } from "node:fs/promises";
import type { NodePods } from "@flotilla/auth";
import { AuthError } from "@flotilla/auth";
import { type OwnCluster, openOwnCluster, requestFromSigner, type SignerCall } from "@flotilla/auth/cluster";
import type { Health, Logger } from "@flotilla/runtime";
import { PodTable } from "../authorize/pod-table.ts";
import type { DelegateOptions } from "../delegate/registration-authority.ts";
import { CaError } from "../errors.ts";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import { generatedMark } from "../roots/cacerts.ts";
import { rootOnDisk, type SelfSignedStore } from "../roots/self-signed-store.ts";
import type { Settings } from "../settings.ts";
import { NodePodsFollower } from "./node-pods.ts";
import { rootInSecret, secretStore } from "./secret-store.ts";

export interface Cluster extends OwnCluster {
  readonly store: SelfSignedStore;
}

export interface ClusterParts {
  readonly settings: Settings;
  readonly health: Health;
  readonly log: Logger;
}

/** State of our clusters that is followed while ca runs. */
export interface Clusters {
  readonly pods: NodePods;
  /** Resolves when the own cluster's pods are known. */
  readonly known: Promise<unknown>;
}

/** Other clusters, and, where node proxies are trusted, the pods of all. Runs until `stop` fires. */
export function followClusters(
  cluster: Cluster | undefined,
  { settings, health, log }: ClusterParts,
  stop: AbortSignal,
): Clusters & AsyncDisposable {
  const pods = new PodTable();
  if (cluster === undefined) return { pods, known: Promise.resolve(), [Symbol.asyncDispose]: () => Promise.resolve() };
  const failures = new Map<string, string>();
  const onState = (name: string, reason: string | undefined): void => {
    if (reason === undefined) failures.delete(name);
    else failures.set(name, reason);
    const [first] = failures;
    health.setCondition("pods", first && `${first[0]}: ${first[1]}`, { blocks: false });
  };
  const follower = new NodePodsFollower({ table: pods, log, random: Math.random, onState });
  const areRead = settings.trustedNodeAccounts.length > 0;
  if (areRead)
    cluster.onRemote((name, api) => {
      if (api === undefined) follower.leave(name);
      else void follower.follow(name, api);
    });
  const onProblem = (reason: string | undefined) => health.setCondition("remote clusters", reason, { blocks: false });
  const ended = new AbortController();
  const remotes = cluster.followRemotes({ log, onProblem }, AbortSignal.any([stop, ended.signal]));
  const known = areRead ? follower.follow(settings.clusterId, cluster.api) : Promise.resolve();
  return {
    pods,
    known,
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await follower[Symbol.asyncDispose]();
      await remotes;
    },
  };
}

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export async function openCluster(settings: Settings, log: Logger): Promise<Cluster | undefined> {
  const { namespace, rootSecret, rootInCacerts, selfSignedDir } = settings;
  const own = await openOwnCluster(settings);
  if (own === undefined) return undefined;
  log.info("cluster served", { server: own.api.server, cluster: settings.clusterId });
  const place = { api: own.api, namespace };
  const onDisk = () => rootOnDisk(selfSignedDir);
  if (!rootInCacerts) return { ...own, store: secretStore({ ...place, name: rootSecret, seed: onDisk }) };
  // Proxies trust the root that was stored elsewhere before.
  const seed = async () => (await rootInSecret({ ...place, name: rootSecret })) ?? (await onDisk());
  return { ...own, store: secretStore({ ...place, name: "cacerts", marks: { [generatedMark]: "" }, seed }) };
}

/** Signers of the cluster; without one, or without EXTERNAL_CA and CERT_SIGNER_DOMAIN, ca signs everything itself. */
export async function delegateOf(
  settings: Settings,
  cluster: Cluster | undefined,
  trust: MeshTrust,
  log: Logger,
): Promise<DelegateOptions> {
  const { externalCa, kubeSigner, signerDomain, signerRootFile } = settings;
  const isDelegating = externalCa === "ISTIOD_RA_KUBERNETES_API";
  const fallback = isDelegating && kubeSigner !== undefined ? await rootsIn(signerRootFile, log) : undefined;
  return {
    defaultSigner: cluster !== undefined && isDelegating ? kubeSigner : undefined,
    signerDomain: cluster === undefined ? undefined : signerDomain,
    rootsOf: (signer) => trust.rootsOfSigner(signer) ?? (signer === kubeSigner ? fallback : undefined),
    request: (call) => {
      if (cluster === undefined) throw new TypeError("a signer is asked for without a cluster");
      return asked(cluster, call, log);
    },
    nowMs: Date.now,
  };
}

async function asked(cluster: Cluster, call: SignerCall, log: Logger): Promise<string> {
  try {
    return await requestFromSigner(cluster.api, call, log);
  } catch (cause) {
    if (!(cause instanceof AuthError)) throw cause;
    throw new CaError("CA_SIGNER_FAILED", cause.message, { cause });
  }
}

async function rootsIn(file: string, log: Logger): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    log.warn("the roots of the signer cannot be read", { file, error });
    return undefined;
  }
}

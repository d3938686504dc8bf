/**
 * The own cluster, and those that its Secrets name, as reviewers of tokens, with the settings by which they are found.
 */
import {
  type ApiServerSettings,
  apiServerSettings,
  clusterOf,
  followNamedClusters,
  type KubeApi,
  openKubeApi,
  remoteClusterSettings,
} from "@flotilla/kube-api";
import { integer, type Logger, list, oneOf, type SettingsOf, text } from "@flotilla/runtime";
import type { ReviewToken, TokenReviewOptions } from "../token-review.ts";
import { type ReviewSecretAccess, reviewInClusters, secretReviewer } from "./secret-reviewer.ts";
import { type ClusterListener, RemoteTokenReviewers, tokenReviewer } from "./token-reviewers.ts";

/**
 * The cluster that the service runs for. Disposing of it closes the connections to its API server and to those of remote
 * clusters.
 */
export interface OwnCluster extends Disposable {
  readonly api: KubeApi;
  /** For tokenReviewAuthenticator. */
  readonly review: Pick<TokenReviewOptions, "clusterId" | "aliases" | "reviewerOf" | "policy">;
  /** Reviews the access of accounts to the Secrets of their namespaces, each in its own cluster. */
  readonly reviewSecretAccess: ReviewSecretAccess;
  /** Resolves once it is known which other clusters there are. */
  readonly isRemote: (cluster: string) => Promise<boolean>;
  /** Called when other clusters are known. */
  onRemote(listener: ClusterListener): void;
  /** Reads the Secrets, or the files, of other clusters until `stop` fires. */
  followRemotes(options: FollowOptions, stop: AbortSignal): Promise<void>;
}

interface FollowOptions {
  readonly log: Logger;
  /** The problem with the Secrets; undefined: none. */
  readonly onProblem: (reason: string | undefined) => void;
}

/** Settings of `openOwnCluster`. */
export interface OwnClusterSettings extends ClusterSettings {
  /** Of the control plane: there are the Secrets of other clusters. */
  readonly namespace: string;
}

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export async function openApiServer(settings: ApiServerSettings): Promise<KubeApi | undefined> {
  const found = await clusterOf(settings);
  return found && openKubeApi(found);
}

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export async function openOwnCluster(settings: OwnClusterSettings): Promise<OwnCluster | undefined> {
  const { clusterId, clusterAliases, maxReviews, jwtPolicy } = settings;
  const api = await openApiServer(settings);
  if (api === undefined) return undefined;
  const reviewer = tokenReviewer(api, maxReviews);
  const remotes = new RemoteTokenReviewers({ maxReviews });
  return {
    api,
    review: {
      clusterId,
      aliases: aliasesOf(clusterAliases),
      reviewerOf: (cluster) => (cluster === clusterId ? reviewer : remotes.reviewerOf(cluster)),
      policy: jwtPolicy === "first-party-jwt" ? "first-party" : "third-party",
    },
    reviewSecretAccess: reviewInClusters({
      ...{ ownCluster: clusterId, own: secretReviewer(api, maxReviews) },
      reviewerOf: (cluster) => remotes.secretReviewerOf(cluster),
    }),
    isRemote: async (cluster) => (await remotes.secretReviewerOf(cluster)) !== undefined,
    onRemote: (listener) => remotes.onChange(listener),
    followRemotes: ({ log, onProblem }, stop) => follow(api, remotes, { settings, log, onProblem }, stop),
    [Symbol.dispose]: () => {
      remotes[Symbol.dispose]();
      api[Symbol.dispose]();
    },
  };
}

/** The own cluster as the judge of tokens that pages are asked with. */
export interface PageReviewer extends Disposable {
  readonly review: ReviewToken;
}

/** Callers of pages are few, and people: more would only be guesses. */
const maxPageReviews = 4;

/** For `pageAccess`. Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export async function openPageReviewer(settings: ApiServerSettings): Promise<PageReviewer | undefined> {
  const api = await openApiServer(settings);
  return api && { review: tokenReviewer(api, maxPageReviews), [Symbol.dispose]: () => api[Symbol.dispose]() };
}

async function follow(
  api: KubeApi,
  remotes: RemoteTokenReviewers,
  { settings, log, onProblem }: FollowOptions & { readonly settings: OwnClusterSettings },
  stop: AbortSignal,
): Promise<void> {
  for await (const named of followNamedClusters(api, { settings, log, random: Math.random }, stop)) {
    remotes.replaceClusters(named);
    const { problems } = named;
    for (const problem of problems) log.warn("cluster of a Secret ignored", { ...problem });
    onProblem(problems[0] && `${problems[0].object} ${problems[0].field}: ${problems[0].reason}`);
  }
}

/** The settings by which ca and xds-server find the cluster that confirms Kubernetes tokens. */
export const clusterSettings = {
  ...apiServerSettings,
  ...remoteClusterSettings,
  clusterId: text({ env: "CLUSTER_ID", default: "Kubernetes", sentence: "Name of the own cluster." }),
  clusterAliases: list({
    env: "CLUSTER_ALIASES",
    default: [],
    sentence: "Other names of clusters, as alias=cluster.",
  }),
  jwtPolicy: oneOf({
    env: "JWT_POLICY",
    default: "third-party-jwt",
    values: ["third-party-jwt", "first-party-jwt"],
    sentence: "With first-party-jwt, Kubernetes tokens without an audience are taken too.",
  }),
  maxReviews: integer({
    env: "MAX_TOKEN_REVIEWS",
    default: 16,
    min: 1,
    sentence: "Tokens that the API server is asked about at a time.",
  }),
} as const;

/** Other names of clusters, each with the cluster's own; of CLUSTER_ALIASES. */
export function aliasesOf(clusterAliases: readonly string[]): ReadonlyMap<string, string> {
  return new Map(clusterAliases.map((text) => text.split("=") as [string, string]));
}

/** Values of `clusterSettings`. */
export type ClusterSettings = SettingsOf<typeof clusterSettings>;

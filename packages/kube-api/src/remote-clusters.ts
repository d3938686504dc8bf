/**
 * Other clusters, by Secrets labelled `istio/multiCluster=true` in the system namespace: each data key is a cluster, its value a
 * kubeconfig.
 */
import type { Logger } from "@flotilla/runtime";
import type { KubeApi, KubeObject } from "./kube-api.ts";
import { type KubeConfig, parseKubeConfig } from "./kube-config.ts";
import { follow } from "./mirror.ts";

/** A cluster that a Secret names. */
export interface RemoteCluster {
  readonly cluster: string;
  /** `Secret/namespace/name`. */
  readonly secret: string;
  /** The text of it: equal texts are the same credentials. */
  readonly kubeconfig: string;
  /** Undefined when it cannot be used, which is one of the problems. */
  readonly config: KubeConfig | undefined;
}

/** A Secret that cannot be used, or a part of it. */
export interface RemoteProblem {
  /** `Secret/namespace/name`. */
  readonly object: string;
  readonly field: string;
  readonly reason: string;
}

/** All usable clusters by name, and what is wrong with the others. */
export interface RemoteClusters {
  readonly clusters: ReadonlyMap<string, RemoteCluster>;
  readonly problems: readonly RemoteProblem[];
}

/** The name of the own cluster, which no Secret may take, and what kubeconfigs may do. */
export interface RemoteClusterRules {
  readonly ownCluster: string;
  /** Options of kubeconfigs that are refused otherwise, see parseKubeConfig. */
  readonly allowedOptions?: ReadonlySet<string>;
}

/** A Secret with its data in base64. */
export type SecretObject = KubeObject & { readonly data?: Readonly<Record<string, unknown>> };

/** The path of the API with the selector of these Secrets. */
export function remoteSecretsPath(systemNamespace: string): string {
  const selector = encodeURIComponent("istio/multiCluster=true");
  return `/api/v1/namespaces/${systemNamespace}/secrets?labelSelector=${selector}`;
}

/** Of two Secrets that name one cluster the first by name holds; our own cluster needs none. */
export function remoteClusters(
  secrets: readonly SecretObject[],
  { ownCluster, allowedOptions }: RemoteClusterRules,
): RemoteClusters {
  const clusters = new Map<string, RemoteCluster>();
  const problems: RemoteProblem[] = [];
  for (const { metadata, data } of [...secrets].sort((a, b) => compare(a.metadata.name, b.metadata.name))) {
    const secret = `Secret/${metadata.namespace ?? ""}/${metadata.name}`;
    for (const [cluster, value] of Object.entries(data ?? {}).sort(([a], [b]) => compare(a, b))) {
      const field = `data[${cluster}]`;
      const note = (reason: string) => void problems.push({ object: secret, field, reason });
      const before = clusters.get(cluster);
      if (cluster === ownCluster) note("is our own cluster: it needs no Secret");
      else if (before !== undefined) note(`the cluster is named by ${before.secret} already, which holds`);
      else if (typeof value !== "string") note("is no text");
      else {
        const kubeconfig = Buffer.from(value, "base64").toString("utf8");
        const config = configOrNote(kubeconfig, field, allowedOptions, note);
        clusters.set(cluster, { cluster, secret, kubeconfig, config });
      }
    }
  }
  return { clusters, problems };
}

/** Where the Secrets are, and the rules for their kubeconfigs. */
export interface FollowRemoteOptions extends RemoteClusterRules {
  readonly systemNamespace: string;
  readonly log: Logger;
  readonly random: () => number;
}

/** All of them, again after each change. Runs until `stop` fires. */
export async function* followRemoteClusters(
  api: KubeApi,
  options: FollowRemoteOptions,
  stop: AbortSignal,
): AsyncGenerator<RemoteClusters> {
  const path = remoteSecretsPath(options.systemNamespace);
  for await (const secrets of follow<SecretObject>(api, path, options, stop)) yield remoteClusters(secrets, options);
}

function configOrNote(
  kubeconfig: string,
  field: string,
  allowed: ReadonlySet<string> | undefined,
  note: (reason: string) => void,
): KubeConfig | undefined {
  try {
    return parseKubeConfig(kubeconfig, field, allowed);
  } catch (cause) {
    note((cause as Error).message);
    return undefined;
  }
}

/** By code unit. */
function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

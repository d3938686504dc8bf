/**
 * Other clusters, by Secrets labelled `istio/multiCluster=true` in the system namespace: each data key is a cluster, its value a
 * kubeconfig. Or by a directory of kubeconfigs: each file is a cluster, named as its current context names it.
 */

import type { Logger } from "@flotilla/runtime";
import { flag, list, type SettingsOf, text } from "@flotilla/runtime";
import { type KubeApi, type KubeObject, openKubeApi } from "./kube-api.ts";
import { type ApiServerSettings, clusterAround, type KubeConfig, parseKubeConfig } from "./kube-config.ts";
import { clusterNameOf } from "./kubeconfig-document.ts";
import { followKubeconfigFiles } from "./kubeconfig-files.ts";
import { follow } from "./mirror.ts";

/** The place where other clusters are named. */
export const remoteClusterSettings = {
  kubeconfigDirectory: text({
    env: "PILOT_MULTICLUSTER_KUBECONFIG_PATH",
    default: undefined,
    sentence:
      "Directory of kubeconfigs that name other clusters in place of Secrets; each file is a cluster, named by its current context.",
  }),
  localClusterSecrets: flag({
    env: "LOCAL_CLUSTER_SECRET_WATCHER",
    default: false,
    sentence:
      "With EXTERNAL_ISTIOD, Secrets of other clusters are read from the cluster that the service runs in, whatever cluster CLUSTER_KUBECONFIG names.",
  }),
  externalControlPlane: flag({
    env: "EXTERNAL_ISTIOD",
    default: false,
    sentence:
      "Act as external control plane: roots and the caBundle of injection are written to clusters whose system namespace names this cluster, or *, in its annotation topology.istio.io/controlPlaneClusters.",
  }),
  insecureKubeconfigs: list({
    env: "PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS",
    default: [],
    sentence:
      "Insecure features that kubeconfigs in Secrets may use: exec (run programs), clientKey, clientCertificate, tokenFile (name files).",
  }),
} as const;

/** Values of `remoteClusterSettings`. */
export type RemoteClusterSettings = SettingsOf<typeof remoteClusterSettings>;

/** A cluster that a Secret or a file names. */
export interface RemoteCluster {
  readonly cluster: string;
  /** `Secret/namespace/name`, or `File/path`. */
  readonly secret: string;
  /** The text of it: equal texts are the same credentials. */
  readonly kubeconfig: string;
  /** Undefined when it cannot be used, which is one of the problems. */
  readonly config: KubeConfig | undefined;
}

/** A Secret or a file that cannot be used, or a part of it. */
export interface RemoteProblem {
  /** `Secret/namespace/name`, or `File/path`. */
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
  const sorted = [...secrets].sort((a, b) => compare(a.metadata.name, b.metadata.name));
  const named = sorted.flatMap(({ metadata, data }) =>
    Object.entries(data ?? {})
      .sort(([a], [b]) => compare(a, b))
      .map(([cluster, value]) => ({
        ...{ cluster, object: `Secret/${metadata.namespace ?? ""}/${metadata.name}`, field: `data[${cluster}]` },
        kubeconfig: typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined,
      })),
  );
  return firstOfEach(named, { ownCluster, ...(allowedOptions && { allowedOptions }) });
}

/** Of two files that name one cluster the first by name holds. */
export function clustersOfFiles(files: ReadonlyMap<string, string>, rules: RemoteClusterRules): RemoteClusters {
  const problems: RemoteProblem[] = [];
  const named: NamedCluster[] = [];
  for (const [file, kubeconfig] of [...files].sort(([a], [b]) => compare(a, b))) {
    const [object, field] = [`File/${file}`, "current-context"];
    try {
      named.push({ cluster: clusterNameOf(kubeconfig, file), object, field, kubeconfig });
    } catch (cause) {
      problems.push({ object, field, reason: (cause as Error).message });
    }
  }
  const found = firstOfEach(named, rules);
  return { clusters: found.clusters, problems: [...problems, ...found.problems] };
}

interface NamedCluster {
  readonly cluster: string;
  readonly object: string;
  readonly field: string;
  /** Undefined where it is no text. */
  readonly kubeconfig: string | undefined;
}

function firstOfEach(
  named: readonly NamedCluster[],
  { ownCluster, allowedOptions }: RemoteClusterRules,
): RemoteClusters {
  const clusters = new Map<string, RemoteCluster>();
  const problems: RemoteProblem[] = [];
  for (const { cluster, object, field, kubeconfig } of named) {
    const note = (reason: string) => void problems.push({ object, field, reason });
    const before = clusters.get(cluster);
    if (cluster === ownCluster) note("is our own cluster: it needs no Secret");
    else if (before !== undefined) note(`the cluster is named by ${before.secret} already, which holds`);
    else if (kubeconfig === undefined) note("is no text");
    else {
      const config = configOrNote(kubeconfig, field, allowedOptions, note);
      clusters.set(cluster, { cluster, secret: object, kubeconfig, config });
    }
  }
  return { clusters, problems };
}

/** The settings, with the own cluster's name and the control plane's namespace, where the Secrets are. */
export interface NamedClusterSettings extends RemoteClusterSettings, ApiServerSettings {
  readonly clusterId: string;
  readonly namespace: string;
}

export interface NamedClusterOptions {
  readonly settings: NamedClusterSettings;
  readonly log: Logger;
  readonly random: () => number;
  readonly open?: (config: KubeConfig) => KubeApi;
}

/** All that the settings name, again after each change. Runs until `stop` fires. @throws KubeError KUBE_CONFIG */
export async function* followNamedClusters(
  own: KubeApi,
  { settings, log, random, open = openKubeApi }: NamedClusterOptions,
  stop: AbortSignal,
): AsyncGenerator<RemoteClusters> {
  const { clusterId: ownCluster, kubeconfigDirectory: directory } = settings;
  const rules = { ownCluster, allowedOptions: new Set(settings.insecureKubeconfigs) };
  if (directory !== undefined) {
    for await (const { files, away } of followKubeconfigFiles(directory, stop)) {
      const found = clustersOfFiles(files, rules);
      const unread = away === undefined ? [] : [{ object: `Directory/${directory}`, field: "", reason: away }];
      yield { ...found, problems: [...unread, ...found.problems] };
    }
    return;
  }
  const around = await clusterOfSecrets(settings);
  using local = around && open(around);
  const path = remoteSecretsPath(settings.namespace);
  const lists = follow<SecretObject>(local ?? own, path, { log, random }, stop);
  for await (const secrets of lists) yield remoteClusters(secrets, rules);
}

/** The cluster whose Secrets name the others, if it is not the own one. @throws KubeError KUBE_CONFIG */
export async function clusterOfSecrets(
  settings: RemoteClusterSettings & ApiServerSettings,
): Promise<KubeConfig | undefined> {
  return settings.externalControlPlane && settings.localClusterSecrets ? clusterAround(settings) : undefined;
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

/** Which clusters the Secrets of the system namespace name, and what is wrong with them. */
import { compareText, type KubeObject } from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";

export interface RemoteCluster {
  readonly cluster: string;
  /** `Secret/namespace/name`. */
  readonly secret: string;
  readonly kubeconfig: string;
}

export interface RemoteClusters {
  readonly clusters: ReadonlyMap<string, RemoteCluster>;
  readonly problems: readonly SourceProblem[];
}

/** Of two Secrets that name one cluster the first by name holds; our own cluster needs none. */
export function remoteClusters(secrets: readonly KubeObject[], ownCluster: string): RemoteClusters {
  const clusters = new Map<string, RemoteCluster>();
  const problems: SourceProblem[] = [];
  for (const { metadata, data } of [...secrets].sort((a, b) => compareText(a.metadata.name, b.metadata.name))) {
    const secret = `Secret/${metadata.namespace ?? ""}/${metadata.name}`;
    const note = (cluster: string, reason: string) =>
      problems.push({ file: "", line: 0, object: secret, field: `data[${cluster}]`, reason });
    for (const [cluster, value] of Object.entries(data ?? {}).sort(([a], [b]) => compareText(a, b))) {
      const before = clusters.get(cluster);
      if (cluster === ownCluster) note(cluster, "is our own cluster: it needs no Secret");
      else if (before !== undefined) note(cluster, `the cluster is named by ${before.secret} already, which holds`);
      else if (typeof value !== "string") note(cluster, "is no text");
      else clusters.set(cluster, { cluster, secret, kubeconfig: Buffer.from(value, "base64").toString("utf8") });
    }
  }
  return { clusters, problems };
}

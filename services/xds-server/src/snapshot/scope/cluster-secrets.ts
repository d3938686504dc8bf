/**
 * Secrets as a proxy finds them: in its own cluster, and where that has none in the cluster of the control plane. The clusters that have one of a
 * name are a row of their own: proxies of all other clusters share what they are sent.
 */
import { type Config, clusterObjectName, isBase64, type JsonObject, parseClusterObjectName } from "@flotilla/model";
import type { RowIndex } from "../row-index.ts";
import { query, type View } from "../view.ts";

const all = "all";

/** By `namespace/name` of the Secret, and all of them; its content is read apart. */
export const secretsOfOtherClusters: RowIndex<JsonObject> = {
  name: "secrets-of-other-clusters",
  kind: "Secret",
  keysOf: ({ key: { namespace, name } }) => {
    const remote = parseClusterObjectName(name);
    return remote === undefined ? [] : [all, `${namespace}/${remote.name}`];
  },
  project: ({ key }) => ({ key, creationTimeMs: 0, labels: {}, annotations: {}, spec: {} }),
};

/** One question in place of one for each Secret: most meshes have one cluster. */
const hasOtherClusters = query<boolean>(
  "has-secrets-of-other-clusters",
  (view) => view.row(secretsOfOtherClusters, all).length > 0,
);

/** The cluster of the control plane is undefined. */
export type SecretCluster = string | undefined;

/** Clusters in which to look for any of these Secrets, in order. */
export function clustersToSearch(view: View, namespace: string, names: readonly string[]): readonly SecretCluster[] {
  if (!view.read(hasOtherClusters)) return [undefined];
  const found = names.flatMap((name) =>
    view
      .row(secretsOfOtherClusters, `${namespace}/${name}`)
      .flatMap(({ key }) => parseClusterObjectName(key.name)?.cluster ?? []),
  );
  const own = view.proxy.clusterAmong([...new Set(found)].sort());
  return own === undefined ? [undefined] : [own, undefined];
}

export function secretIn(
  view: View,
  cluster: SecretCluster,
  namespace: string,
  name: string,
): Config<JsonObject> | undefined {
  return view.config("Secret", namespace, cluster === undefined ? name : clusterObjectName({ name, cluster }));
}

/** Docker's file of the first Secret of its type that has one; empty for none. */
export function pullSecret(view: View, namespace: string, name: string): string {
  for (const cluster of clustersToSearch(view, namespace, [name])) {
    const { spec } = secretIn(view, cluster, namespace, name) ?? {};
    const value = (spec?.["data"] as JsonObject | undefined)?.[".dockerconfigjson"];
    if (spec?.["type"] !== "kubernetes.io/dockerconfigjson" || !isBase64(value)) continue;
    return new TextDecoder().decode(Uint8Array.from(atob(value), (char) => char.charCodeAt(0)));
  }
  return "";
}

/** Secrets of another cluster as changes of configuration, with what proxies need of them. */
import {
  type ConfigChange,
  type ConfigKey,
  clusterObjectName,
  type KubeObject,
  maxNamespaceLength,
  problemOfName,
} from "@flotilla/model";
import { configOf } from "@flotilla/registry/config";

/** Why a Secret is not read: a name that no object can have might be read as that of another cluster's Secret. */
export function namingProblem({ metadata: { name, namespace = "" } }: KubeObject): string | undefined {
  const problem = problemOfName(name) ?? problemOfName(namespace, maxNamespaceLength);
  return problem && `its Secret ${JSON.stringify(`${namespace}/${name}`)} is not read: a name ${problem}`;
}

export function clusterSecretPut(secret: KubeObject, cluster: string): ConfigChange {
  const config = configOf(secret, { source: `cluster ${cluster}`, location: secret.metadata.resourceVersion ?? "" });
  if (config === undefined) throw new RangeError(`${secret.kind} is no configuration`);
  const key = clusterSecretKey(config.key, cluster);
  // kubectl's annotation would hold the whole Secret once more.
  return { type: "config", op: "put", key, value: { ...config, key, labels: {}, annotations: {} } };
}

export function clusterSecretDelete(secret: Omit<ConfigKey, "kind">, cluster: string): ConfigChange {
  return { type: "config", op: "delete", key: clusterSecretKey(secret, cluster) };
}

function clusterSecretKey({ namespace, name }: Omit<ConfigKey, "kind">, cluster: string): ConfigKey {
  return { kind: "Secret", namespace, name: clusterObjectName({ name, cluster }) };
}

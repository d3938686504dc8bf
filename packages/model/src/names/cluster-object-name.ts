/**
 * Names of configuration objects that another cluster has. The cluster stands behind a `%`, which neither the name of an object nor that of an
 * SDS resource may hold: nothing that a user writes or a proxy asks for is taken for an object of another cluster.
 */
export interface ClusterObjectName {
  /** As its own cluster has it. */
  readonly name: string;
  readonly cluster: string;
}

export function clusterObjectName({ name, cluster }: ClusterObjectName): string {
  return `${name}%${encodeURIComponent(cluster)}`;
}

/** Undefined for an object of the own cluster. */
export function parseClusterObjectName(text: string): ClusterObjectName | undefined {
  const [, name, encoded] = /^([^%]+)%((?:[^%]|%[0-9A-F]{2})+)$/.exec(text) ?? [];
  if (name === undefined || encoded === undefined) return undefined;
  try {
    return { name, cluster: decodeURIComponent(encoded) };
  } catch {
    // Bytes that are no UTF-8: not written here.
    return undefined;
  }
}

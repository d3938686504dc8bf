/** Read-only views of the registry: services, endpoints, workloads, clusters, exports and imports, problems. */
import { clusterSetDomain, serviceHostname } from "@flotilla/model";
import type { ClusterRegistries, RegistryChange } from "@flotilla/registry";
import type { HttpReply, HttpRequest } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import type { AuditedSource } from "../audit/audited-source.ts";
import type { ClusterStatus } from "../watch/cluster-status.ts";
import type { InputSource } from "../watch/input-source.ts";

export interface ListedProblem extends SourceProblem {
  readonly source: string;
}

/** Every service with the shard it comes from; `?host=` picks one host. */
export function servicesPage(registry: ClusterRegistries, { query }: HttpRequest): HttpReply {
  return { json: { services: pick(registry.state(), "service", query.get("host")) } };
}

/** Endpoints by host and shard; `away` lists the shards with outdated endpoints, and their age. */
export function endpointsPage(
  registry: ClusterRegistries,
  clusters: readonly ClusterStatus[],
  nowMs: number,
  { query }: HttpRequest,
): HttpReply {
  const away = clusters.flatMap((cluster) =>
    awayOf(cluster, nowMs).map((age) => ({ shard: `Kubernetes/${cluster.id}`, ...age })),
  );
  return { json: { endpoints: pick(registry.state(), "endpoints", query.get("host")), away } };
}

/** The services that each workload is an endpoint of, by the object that it comes from; `?object=Pod/namespace/name` picks one. */
export function instancesPage(registry: ClusterRegistries, { query }: HttpRequest): HttpReply {
  const only = query.get("object");
  const instances = new Map<string, object[]>();
  for (const change of registry.state()) {
    if (change.type !== "endpoints" || change.op === "delete") continue;
    for (const { definedBy = "", addresses, port, servicePortName, health } of change.value) {
      if (only !== null && definedBy !== only) continue;
      const held = instances.get(definedBy) ?? [];
      instances.set(definedBy, held);
      held.push({ ...change.key, addresses, port, servicePortName, health });
    }
  }
  return { json: { instances: Object.fromEntries(instances) } };
}

/** Each cluster as istiod's page of this name has it, and how old what is known of it is. */
export function clustersPage(clusters: readonly ClusterStatus[], nowMs: number): HttpReply {
  return {
    json: clusters.map((cluster) => {
      const { id, secretName, syncStatus } = cluster;
      return Object.assign({ id, secretName, syncStatus }, ...awayOf(cluster, nowMs));
    }),
  };
}

/** Services of the multi-cluster services API, in the fields of istiod's page of this name. */
export function clusterSetPage(registry: Pick<ClusterRegistries, "clusterSetServices">): HttpReply {
  return {
    json: registry.clusterSetServices().map(({ cluster, name, namespace, exported, importedAddresses }) => {
      return {
        ...{ Cluster: cluster, Name: name, Namespace: namespace, Exported: exported },
        ...{ Imported: importedAddresses !== undefined, ClusterSetVIP: importedAddresses?.[0] ?? "" },
        Discoverability: exported
          ? { [serviceHostname(name, namespace, clusterSetDomain)]: "AlwaysDiscoverable" }
          : null,
      };
    }),
  };
}

function awayOf({ away }: ClusterStatus, nowMs: number) {
  if (away === undefined) return [];
  const { sinceMs, reason } = away;
  return [{ awaySince: new Date(sinceMs).toISOString(), awaySeconds: Math.round((nowMs - sinceMs) / 1_000), reason }];
}

/** The content held of each shard that is compared with its source, with a digest of it and when both were last equal. */
export function digestsPage(sources: readonly InputSource[]): HttpReply {
  const shards = sources.flatMap((source) => ("shards" in source ? (source as AuditedSource).shards() : []));
  return { json: { shards } };
}

/** Rejected files, and problems of objects that are in force. */
export function listProblems(
  sources: readonly Pick<InputSource, "name" | "problems">[],
  registry: ClusterRegistries,
): readonly ListedProblem[] {
  const refused = sources.flatMap((source) =>
    source.problems().map((problem) => ({ source: source.name, ...problem })),
  );
  const wrong = registry.problems().map((problem) => ({ source: "registry", file: "", line: 0, ...problem }));
  return [...refused, ...wrong];
}

function pick(
  changes: readonly RegistryChange[],
  type: Exclude<RegistryChange["type"], "workload">,
  host: string | null,
): readonly unknown[] {
  return changes
    .flatMap((change) => (change.type === type && change.op === "put" ? [change] : []))
    .filter(({ key }) => host === null || ("hostname" in key && key.hostname === host))
    .map(({ key, value }) => ({ ...key, value }));
}

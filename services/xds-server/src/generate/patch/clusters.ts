/** CLUSTER patches. */
import { clone } from "@bufbuild/protobuf";
import { parseClusterName, parseSniName } from "@flotilla/model";
import { type Cluster, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { reasonOf } from "@flotilla/proto/patch-values";
import { isMerge, mergeSocket, mergeValue } from "./merge.ts";
import { ApplyTo, type Context, isInContext, type NoteOutcome, Operation, type Patch, patchesTo } from "./patch.ts";

export interface PatchedCluster {
  readonly name: string;
  readonly context: Context;
  /** Of the services behind an inbound cluster, whose name has none. */
  readonly hosts: readonly string[];
}

/** The patches that change or remove a cluster. */
export function clusterPatches(patches: readonly Patch[], cluster: PatchedCluster): readonly Patch[] {
  return patches.filter(
    (patch) =>
      patch.applyTo === ApplyTo.CLUSTER &&
      (isMerge(patch) || patch.operation === Operation.REMOVE) &&
      isInContext(patch, cluster.context) &&
      matchesCluster(patch, cluster),
  );
}

/** The clusters that patches add in a context. */
export function addedClusters(patches: readonly Patch[], contexts: readonly Context[]): readonly Patch<Cluster>[] {
  return patchesTo(patches, ApplyTo.CLUSTER).filter(
    (patch) => patch.operation === Operation.ADD && contexts.some((context) => isInContext(patch, context)),
  );
}

export function matchesCluster({ match }: Patch, { name, hosts }: Omit<PatchedCluster, "context">): boolean {
  if (match?.objectTypes.case !== "cluster") return true;
  const wanted = match.objectTypes.value;
  if (wanted.name !== "") return wanted.name === name;
  const { direction = "", subset = "", hostname = "", port = 0 } = parseClusterName(name) ?? parseSniName(name) ?? {};
  const meant = direction === "inbound" ? hosts : [hostname];
  if (wanted.subset !== "" && wanted.subset !== subset) return false;
  if (wanted.service !== "" && !meant.includes(wanted.service)) return false;
  return wanted.portNumber === 0 || wanted.portNumber === port;
}

/** @param patches those of `clusterPatches`; undefined when one of them removes the cluster */
export function patchCluster(cluster: Cluster, patches: readonly Patch[], note: NoteOutcome): Cluster | undefined {
  const removal = patches.find(({ operation }) => operation === Operation.REMOVE);
  if (removal !== undefined) {
    note(removal);
    return undefined;
  }
  return patchesTo(patches, ApplyTo.CLUSTER).reduce((patched, patch) => {
    try {
      const merged = mergeCluster(patched, patch);
      note(patch);
      return merged;
    } catch (error) {
      note(patch, reasonOf(error));
      return patched;
    }
  }, cluster);
}

/** Of a patch with a transport socket the rest does not count. Source: istiod asked. */
function mergeCluster(cluster: Cluster, patch: Patch<Cluster>): Cluster {
  const socket = patch.value?.transportSocket;
  if (socket === undefined) return mergeValue(ClusterSchema, cluster, patch);
  const matches = cluster.transportSocketMatches.map(({ transportSocket }) => transportSocket);
  const own = matches.length > 0 ? matches : [cluster.transportSocket];
  // One beside those that are chosen by endpoint would be refused by Envoy.
  if (!mergeSocket(own, socket) && matches.length === 0) cluster.transportSocket = clone(TransportSocketSchema, socket);
  return cluster;
}

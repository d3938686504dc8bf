/**
 * The endpoints of a service as callers find them: an address of which nothing else is known is called by HBONE where a workload of the ambient
 * mesh has it. Source: istiod asked, scenario ambient/entries-of-workloads.
 */
import type { Endpoint } from "@flotilla/model";
import { type EndpointShards, type ServiceName, type ServiceText, serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";

/** By shard. */
export function calledEndpoints(view: View, service: ServiceName): EndpointShards {
  const shards = view.endpoints(service);
  if (!view.feature("ambient")) return shards;
  const isOpen = [...shards].some(([shard, endpoints]) => endpoints.some((one) => isByAddress(shard, one)));
  return isOpen ? view.read(endpointsWithTunnels, serviceText.write(service)) : shards;
}

/** Other endpoints have the traits of their own pod. */
function isByAddress(shard: string, { takesHbone, workloadName }: Endpoint): boolean {
  return takesHbone !== true && (workloadName === "" || shard.startsWith("External/"));
}

const endpointsWithTunnels = query<EndpointShards, ServiceText>(
  "endpoints-with-tunnels",
  (view, text) =>
    new Map(
      [...view.endpoints(serviceText.read(text))].map(([shard, endpoints]) => [
        shard,
        endpoints.map((one) => (isByAddress(shard, one) && isCaptured(view, one) ? withTunnel(one) : one)),
      ]),
    ),
  sameShards,
);

function isCaptured(view: View, { addresses: [address = ""], network }: Endpoint): boolean {
  return view.workloadsAt(address).some((uid) => {
    const workload = view.workload(uid);
    return workload !== undefined && workload.tunnel !== "none" && workload.network === network;
  });
}

const tunnelled = new WeakMap<Endpoint, Endpoint>();

/** The same for the same endpoint: when another one changes, what follows from this one stays. */
function withTunnel(endpoint: Endpoint): Endpoint {
  const made = tunnelled.get(endpoint) ?? { ...endpoint, takesHbone: true };
  tunnelled.set(endpoint, made);
  return made;
}

/** By the identity of each endpoint. */
export function sameShards(a: EndpointShards, b: EndpointShards): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([shard, endpoints]) => {
    const others = b.get(shard);
    return others?.length === endpoints.length && endpoints.every((endpoint, index) => endpoint === others[index]);
  });
}

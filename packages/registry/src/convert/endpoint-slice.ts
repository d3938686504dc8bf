/** The endpoints of one EndpointSlice, with the properties of their pods and nodes. */

import type { Endpoint, EndpointHealth, Service } from "@flotilla/model";
import { isIpAddress, ownValue } from "@flotilla/model";
import type { KubeEndpointConditions, KubeEndpointSlice, KubePod } from "../kube.ts";
import { type EndpointContext, unknownWorkload } from "./endpoint-traits.ts";
import { podWorkload } from "./pod.ts";

/** Ports and addresses that are none are left out: one of them would make a proxy refuse all endpoints of the service. */
const maxPort = 65_535;

/** Pods by name and by address. */
export interface PodLookup {
  byName(namespace: string, name: string): KubePod | undefined;
  byAddress(namespace: string, address: string): KubePod | undefined;
}

/** The endpoints of a slice, and the pods that it waits for. */
export interface SliceEndpoints {
  readonly endpoints: readonly Endpoint[];
  /** Pods that the slice names and that are not known yet: their endpoints follow with the pod. */
  readonly missingPods: readonly string[];
}

/** The endpoints of one slice for the ports of its service. Source: Kubernetes' EndpointSlice reference. */
export function convertEndpointSlice(
  slice: KubeEndpointSlice,
  service: Service,
  pods: PodLookup,
  context: EndpointContext,
): SliceEndpoints {
  const endpoints: Endpoint[] = [];
  const missingPods: string[] = [];
  // Names instead of addresses: a proxy could not send to them by load balancing.
  if (slice.addressType === "FQDN") return { endpoints, missingPods };
  const sliceNamespace = slice.metadata.namespace ?? "";
  for (const { addresses = [], conditions = {}, targetRef } of slice.endpoints ?? []) {
    const namedPod = targetRef?.kind === "Pod" ? (targetRef.name ?? "") : undefined;
    const podNamespace = targetRef?.namespace ?? sliceNamespace;
    for (const address of addresses) {
      if (!isIpAddress(address)) continue;
      const pod =
        namedPod === undefined ? pods.byAddress(sliceNamespace, address) : pods.byName(podNamespace, namedPod);
      if (pod === undefined && namedPod !== undefined) {
        missingPods.push(`${podNamespace}/${namedPod}`);
        continue;
      }
      // It will not run again; istiod leaves it out whatever the slice contains.
      if (pod?.status?.phase === "Failed") continue;
      const workload = pod === undefined ? unknownWorkload(address, context) : podWorkload(pod, context);
      const common = {
        ...workload,
        addresses: endpointAddresses(address, pod, service, context),
        weight: 0,
        health: endpointHealth(conditions, service, context),
        ...(service.kubernetes?.publishNotReadyAddresses === true ? { sendUnhealthy: true } : {}),
        definedBy: pod === undefined ? `EndpointSlice/${sliceNamespace}/${slice.metadata.name}` : podText(pod),
      };
      for (const { name = "", port = 0 } of slice.ports ?? [])
        if (port >= 0 && port <= maxPort) endpoints.push({ ...common, servicePortName: name, port });
    }
  }
  return { endpoints, missingPods };
}

/** A pod that stands in an IPv4 and in an IPv6 slice is one endpoint; the first one found stays. */
export function distinctEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const seen = new Set<string>();
  return endpoints.filter(({ addresses, servicePortName, port }) => {
    const key = `${addresses[0]}|${servicePortName}|${port}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Kubernetes' rules: an absent `ready` counts as true, absent `serving` and `terminating` as "cannot determine". */
function endpointHealth(
  { ready, serving, terminating }: KubeEndpointConditions,
  { labels }: Service,
  { persistentSessionLabel }: EndpointContext,
): EndpointHealth {
  if (ready ?? true) return "healthy";
  if (!(terminating ?? true)) return "unhealthy";
  // Clients with a session may still finish it there.
  const drains = persistentSessionLabel !== "" && (ownValue(labels, persistentSessionLabel) ?? "") !== "";
  return drains && (serving ?? true) ? "draining" : "terminating";
}

/** Both of a pod's addresses stand for a service that has both itself; elsewhere each slice's address is an endpoint. */
function endpointAddresses(
  address: string,
  pod: KubePod | undefined,
  service: Service,
  { clusterId, dualStack }: EndpointContext,
): readonly string[] {
  const all = (pod?.status?.podIPs ?? []).flatMap(({ ip = "" }) => (isIpAddress(ip) ? [ip] : []));
  const hasBoth = dualStack && (ownValue(service.clusterVips, clusterId)?.length ?? 0) > 1;
  return hasBoth && all.length > 1 && all.includes(address) ? all : [address];
}

function podText({ metadata }: KubePod): string {
  return `Pod/${metadata.namespace ?? ""}/${metadata.name}`;
}

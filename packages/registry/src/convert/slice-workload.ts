/** Workloads of EndpointSlices: addresses of which nothing else is known, and pods that only a slice names. */
import { isIpAddress, ownValue, type Workload, type WorkloadPort } from "@flotilla/model";
import type { KubeEndpointSlice, KubePod, KubeService } from "../kube.ts";
import { containerPorts } from "./ambient-workload.ts";
import type { EndpointContext } from "./endpoint-traits.ts";
import { isValidPort, wrongPortFields } from "./kubernetes-service.ts";

/** The service of an EndpointSlice. */
export interface SliceService {
  readonly service: KubeService;
  readonly hostname: string;
}

/** True where an endpoint of the slice is this very pod, not an earlier one of its name. */
export function namesPod({ endpoints = [] }: KubeEndpointSlice, { metadata }: KubePod): boolean {
  return endpoints.some(
    ({ targetRef }) => targetRef?.kind === "Pod" && targetRef.name === metadata.name && targetRef.uid === metadata.uid,
  );
}

/** The ports by which a service without the pod in its selector calls it: as in istiod, those that the service states, not those of its slice. */
export function podServicePorts(pod: KubePod, { spec = {} }: KubeService): readonly WorkloadPort[] {
  const own = containerPorts(pod);
  return (spec.ports ?? []).flatMap((stated) => {
    if (wrongPortFields(stated).length > 0) return [];
    const { port, targetPort = port } = stated;
    const target = typeof targetPort === "string" ? ownValue(own, targetPort) : targetPort;
    return target === undefined ? [] : [{ servicePort: port, targetPort: target }];
  });
}

/** In the order of the slice, which names the ports of its service. */
function slicePorts(slice: Pick<KubeEndpointSlice, "ports">, { service }: SliceService): readonly WorkloadPort[] {
  return (slice.ports ?? []).flatMap(({ name = "", port: targetPort, protocol = "TCP" }) => {
    // As in istiod, ports of datagrams are those of pods alone.
    const own = service.spec?.ports?.find((candidate) => (candidate.name ?? "") === name);
    if (own === undefined || targetPort === undefined || protocol !== "TCP") return [];
    if (!isValidPort({ port: targetPort }) || !isValidPort(own)) return [];
    return [{ servicePort: own.port, targetPort }];
  });
}

/**
 * Endpoints of a slice that name no pod, by their first address: they may belong to a node's network, so that nothing is known of the
 * workload behind them.
 */
export function workloadsOfSlice(
  slice: KubeEndpointSlice,
  owner: SliceService,
  { clusterId, systemNetwork }: EndpointContext,
): ReadonlyMap<string, Workload> {
  const found = new Map<string, Workload>();
  if (slice.addressType === "FQDN") return found;
  const { name, namespace = "" } = slice.metadata;
  const memberOf = [{ namespace, hostname: owner.hostname, ports: slicePorts(slice, owner) }];
  for (const { addresses = [], conditions = {}, targetRef } of slice.endpoints ?? []) {
    const [first] = addresses;
    if (targetRef?.kind === "Pod" || first === undefined || found.has(first)) continue;
    if (!addresses.every(isIpAddress)) continue;
    found.set(first, {
      kind: "EndpointSlice",
      ...{ name, namespace, addresses, labels: {}, network: systemNetwork, locality: "", clusterId },
      ...{ serviceAccount: "", workloadName: "", isReady: conditions.ready ?? true, hostNetwork: true },
      ...{ tunnel: "none", ports: {}, memberOf },
    });
  }
  return found;
}

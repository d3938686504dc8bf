/** Gateways of the Gateway API through which ztunnels reach the workloads of other networks, by HBONE. */
import type { KubernetesGatewaySpec } from "@flotilla/gateway-api";
import { type Config, isIpAddress, ownValue, type Service } from "@flotilla/model";
import type { GatewayFacts, WorkloadFacts } from "./facts.ts";
import { gatewayDestination, hbonePort } from "./waypoint.ts";

export interface HboneGateway extends GatewayFacts {
  /** The network behind it. */
  readonly network: string;
  readonly namespace: string;
  readonly name: string;
  readonly serviceAccount: string;
  /** The cluster whose Gateway it is; undefined for the control plane's own. */
  readonly remoteCluster?: string;
}

const networkLabel = "topology.istio.io/network";
const waypointClass = "istio-waypoint";
const accountAnnotation = "gateway.istio.io/service-account";

/** Undefined without the label of a network, an HBONE listener, or an address, and for waypoints. Source: istiod asked. */
export function hboneGatewayOf(gateway: Config<KubernetesGatewaySpec>): HboneGateway | undefined {
  const { key, labels, annotations, spec } = gateway;
  const network = ownValue(labels, networkLabel) ?? "";
  const listener = spec.listeners?.find(({ protocol }) => protocol === "HBONE");
  if (network === "" || listener === undefined || spec.gatewayClassName === waypointClass) return undefined;
  const destination = gatewayDestination(gateway, network) ?? namedDestination(gateway, network);
  if (destination === undefined) return undefined;
  const serviceAccount =
    ownValue(annotations, accountAnnotation) ?? `${key.name}-${spec.gatewayClassName ?? "istio-remote"}`;
  return {
    network,
    namespace: key.namespace,
    name: key.name,
    serviceAccount,
    destination,
    port: listener.port ?? hbonePort,
  };
}

/** Addresses that the Gateway itself names, before its status has any. */
function namedDestination(
  { key, labels, annotations, creationTimeMs, spec }: Config<KubernetesGatewaySpec>,
  network: string,
) {
  const status = { addresses: spec.addresses ?? [] };
  return gatewayDestination({ key, labels, annotations, creationTimeMs, spec, status }, network);
}

/** The gateways of another cluster's Gateway, one for each of its addresses. */
export function remoteHboneGateways(
  { namespace, hboneGateway, definedBy }: Pick<Service, "namespace" | "hboneGateway" | "definedBy">,
  remoteCluster: string,
): readonly HboneGateway[] {
  if (hboneGateway === undefined) return [];
  const { network, addresses, serviceAccount } = hboneGateway;
  const name = definedBy.split("/").at(-1) ?? "";
  return addresses.map((address) => {
    const destination = isIpAddress(address) ? { network, address } : { namespace, hostname: address };
    return { network, namespace, name, serviceAccount, destination, port: hbonePort, remoteCluster };
  });
}

/** Ztunnels call the gateway itself as a workload. */
export function gatewayWorkload(gateway: HboneGateway, trustDomain: string): WorkloadFacts {
  const { destination, network, namespace, serviceAccount, remoteCluster } = gateway;
  // istiod's names; those of another cluster's Gateway have no port.
  const port = remoteCluster === undefined ? gateway.port : 0;
  const [address, hostname] = "hostname" in destination ? ["", destination.hostname] : [destination.address, ""];
  const uid = gatewayUid(network, address || hostname, port);
  return {
    ...{ uid, name: uid, namespace, network, serviceAccount, trustDomain, hostname },
    addresses: address === "" ? [] : [address],
    ...{ tunnel: "none", canonicalName: "", canonicalRevision: "", workloadName: "", isPod: false, node: "" },
    ...{ clusterId: "", isHealthy: true, hostNetwork: false, services: [], policies: [] },
  };
}

function gatewayUid(network: string, address: string, port: number): string {
  return `NetworkGateway/${network}/${address}/${port}`;
}

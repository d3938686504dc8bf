/** Gateways of the Gateway API through which ztunnels reach the workloads of other networks, by HBONE. */
import type { KubernetesGatewaySpec } from "@flotilla/gateway-api";
import {
  type Config,
  type GatewayAddresses,
  gatewayAddresses,
  hbonePort,
  isIpAddress,
  ownValue,
  type Service,
} from "@flotilla/model";
import type { GatewayFacts, WorkloadFacts } from "./facts.ts";
import type { GatewayDestination } from "./waypoint.ts";

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
/** Stands for a gateway that lies where no control plane can ask. */
const remoteClass = "istio-remote";
const accountAnnotation = "gateway.istio.io/service-account";

/**
 * One for each address of a Gateway: none without the label of a network or an HBONE listener, and for those of other classes, which lead into
 * their own network. Source: istiod asked.
 */
export function hboneGatewaysOf(gateway: Config<KubernetesGatewaySpec>): readonly HboneGateway[] {
  const { key, labels, annotations, spec } = gateway;
  const network = ownValue(labels, networkLabel) ?? "";
  const listener = spec.listeners?.find(({ protocol }) => protocol === "HBONE");
  if (network === "" || listener === undefined || spec.gatewayClassName !== remoteClass) return [];
  const serviceAccount = ownValue(annotations, accountAnnotation) ?? `${key.name}-${remoteClass}`;
  const common = { network, namespace: key.namespace, name: key.name, serviceAccount };
  return addressesOf(gateway).map((address) => ({
    ...common,
    destination: destinationOf(address, network, key.namespace),
    port: listener.port ?? hbonePort,
  }));
}

/** Those of its status, and before it has any those that the Gateway itself names. */
function addressesOf({ spec, status }: Config<KubernetesGatewaySpec>): readonly string[] {
  const own = (status ?? {}) as GatewayAddresses;
  return gatewayAddresses((own.addresses ?? []).length > 0 ? own : spec).map(({ value }) => value);
}

function destinationOf(address: string, network: string, namespace: string): GatewayDestination {
  return isIpAddress(address) ? { network, address } : { namespace, hostname: address };
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
    const destination = destinationOf(address, network, namespace);
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

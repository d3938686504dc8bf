/** Gateways of the Gateway API that lead into a network. Source: Istio's multicluster installation, the label reference. */
import type { Labels } from "../config/selector.ts";
import { objectsOf } from "../json/own-value.ts";
import { isIpAddress } from "../names/address.ts";

/** Where ztunnels, waypoints and gateways take HBONE, unless a listener says otherwise. */
export const hbonePort = 15_008;

/** As they stand in the spec of a Gateway, or in its status. */
export interface GatewayAddresses {
  readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
}

export interface GatewayAddress {
  readonly type: "IPAddress" | "Hostname";
  readonly value: string;
}

export interface GatewayApiSpec extends GatewayAddresses {
  readonly gatewayClassName?: string;
  readonly listeners?: readonly {
    readonly port?: number;
    readonly protocol?: string;
    readonly tls?: { readonly mode?: string; readonly options?: Readonly<Record<string, string>> };
  }[];
}

/** An address through which a network is reached from others. */
export interface NetworkGateway {
  readonly network: string;
  /** Empty for gateways of MeshNetworks that name no service. */
  readonly clusterId: string;
  readonly address: string;
  /** Where it routes the mesh's TLS by server names; 0 where it does not. */
  readonly port: number;
  /** Where it takes HBONE, if it does. */
  readonly hbonePort?: number;
  /** `namespace/name` of the Gateway of the Gateway API that it is, unless a Service is known by its label. */
  readonly gateway?: string;
}

export interface GatewayOfNetwork {
  readonly network: string;
  readonly addresses: readonly string[];
  readonly ports: readonly number[];
  /** Where it takes HBONE, among others than `ports`. */
  readonly hbonePorts: readonly number[];
}

const networkLabel = "topology.istio.io/network";
const portLabel = "networking.istio.io/gatewayPort";
const usualPort = "15443";

/** Those that something can be sent to: no other type, nothing empty, no name where an address is said to be. */
export function gatewayAddresses({ addresses = [] }: GatewayAddresses): readonly GatewayAddress[] {
  // Those of a status have no schema.
  return objectsOf(addresses).flatMap(({ type = "IPAddress", value }) => {
    if (typeof value !== "string") return [];
    return (type === "IPAddress" && isIpAddress(value)) || (type === "Hostname" && value !== "")
      ? [{ type, value }]
      : [];
  });
}

/** The host of the service that stands for a Gateway of another cluster. @param use `hbone`, `waypoint`, or a port */
export function remoteGatewayHost(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  use: "hbone" | "waypoint" | number,
): string {
  return `${name}-${use}.${namespace}.gateway`;
}

/** Undefined without the label of a network, an address that it names itself, or a listener that leads to services by their SNI or takes HBONE. */
export function gatewayOfNetwork(labels: Labels, spec: GatewayApiSpec): GatewayOfNetwork | undefined {
  const network = labels[networkLabel] ?? "";
  const addresses = gatewayAddresses(spec).map(({ value }) => value);
  const expected = labels[portLabel] ?? usualPort;
  const ports = (spec.listeners ?? []).flatMap(({ port, tls }) => {
    const isAutoPassthrough =
      tls?.options?.["gateway.istio.io/listener-protocol"]?.toLowerCase() === "auto-passthrough";
    return port !== undefined && tls !== undefined && (isAutoPassthrough || String(port) === expected) ? [port] : [];
  });
  const hbonePorts = (spec.listeners ?? []).flatMap(({ port, protocol }) =>
    protocol === "HBONE" && port !== undefined ? [port] : [],
  );
  if (network === "" || addresses.length === 0 || ports.length + hbonePorts.length === 0) return undefined;
  return { network, addresses, ports, hbonePorts };
}

/** Gateways of the Gateway API that lead into a network. Source: Istio's multicluster installation, the label reference. */
import type { Labels } from "../config/selector.ts";

export interface GatewayApiSpec {
  readonly gatewayClassName?: string;
  readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
  readonly listeners?: readonly {
    readonly port?: number;
    readonly tls?: { readonly options?: Readonly<Record<string, string>> };
  }[];
}

/** An address through which a network is reached from others. */
export interface NetworkGateway {
  readonly network: string;
  /** Empty for gateways of MeshNetworks that name no service. */
  readonly clusterId: string;
  readonly address: string;
  readonly port: number;
}

export interface GatewayOfNetwork {
  readonly network: string;
  readonly addresses: readonly string[];
  readonly ports: readonly number[];
}

const networkLabel = "topology.istio.io/network";
const portLabel = "networking.istio.io/gatewayPort";
const usualPort = "15443";

/** Undefined without the label of a network, an address that it names itself, or a listener that leads to services by their SNI. */
export function gatewayOfNetwork(labels: Labels, spec: GatewayApiSpec): GatewayOfNetwork | undefined {
  const network = labels[networkLabel] ?? "";
  const addresses = (spec.addresses ?? []).flatMap(({ type = "IPAddress", value = "" }) =>
    value !== "" && (type === "IPAddress" || type === "Hostname") ? [value] : [],
  );
  const expected = labels[portLabel] ?? usualPort;
  const ports = (spec.listeners ?? []).flatMap(({ port, tls }) => {
    const isAutoPassthrough =
      tls?.options?.["gateway.istio.io/listener-protocol"]?.toLowerCase() === "auto-passthrough";
    return port !== undefined && tls !== undefined && (isAutoPassthrough || String(port) === expected) ? [port] : [];
  });
  return network === "" || addresses.length === 0 || ports.length === 0 ? undefined : { network, addresses, ports };
}

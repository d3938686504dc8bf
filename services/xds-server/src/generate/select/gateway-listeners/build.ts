/** Builds a listener of Gateways from its plan. */
import { create } from "@flotilla/proto";
import { datagramAddress, pipeAddress, socketAddress } from "@flotilla/proto/addresses";
import type { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type FilterChain, FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import type { MeshConfig_TLSConfig as TlsDefaults } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { ServerTLSSettings_TLSmode as TlsMode } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { datagramProxy } from "../../envoy/filters/datagram-proxy.ts";
import { networkPolicyFilters } from "../../envoy/filters/extension-filters.ts";
import { statefulSession } from "../../envoy/filters/http-filters.ts";
import { metadataExchange, protocolProxy } from "../../envoy/filters/network-filters.ts";
import { connectionManager, type EdgeTraits } from "../../envoy/listeners/connection-manager.ts";
import { bufferLimit } from "../../envoy/listeners/connection-settings.ts";
import { proxyProtocol, tlsInspector } from "../../envoy/listeners/listener-filters.ts";
import { acceptedAtOnce, exactBalance, handshakeTimeout } from "../../envoy/listeners/listener-parts.ts";
import type { ListenerTraits } from "../../envoy/listeners/listener-traits.ts";
import type { SecretServer } from "../../envoy/tls/agent-secret.ts";
import type { CompliancePolicy } from "../../envoy/tls/compliance.ts";
import type { ServerFiles } from "../../envoy/tls/inbound-tls.ts";
import { ownQuicTls, ownTls } from "../../envoy/tls/own-tls.ts";
import type { AuthorizationFilters } from "../authorization.ts";
import type { GatewayChain, GatewayHttpChain, GatewayListenerPlan, GatewayTcpChain } from "./plan.ts";

export interface GatewayListenerInputs {
  readonly kind: "gateway";
  readonly plan: GatewayListenerPlan;
  readonly trafficDirection: TrafficDirection;
  readonly traits: ListenerTraits;
  readonly edge: EdgeTraits;
  readonly takesProxyProtocol: boolean;
  readonly authorization: AuthorizationFilters;
  readonly files: ServerFiles;
  readonly tlsDefaults: TlsDefaults | undefined;
  readonly compliance: CompliancePolicy;
  /** Certificates are fetched as clients ask for their servers. */
  readonly onDemand: boolean;
  readonly secretServer: SecretServer | undefined;
  /** The route configuration that is sent host by host. */
  readonly scopedRoute: string | undefined;
  /** Routes may name an endpoint picker. */
  readonly picksEndpoints: boolean;
}

export function buildGatewayListener(inputs: GatewayListenerInputs): Listener {
  const { plan, trafficDirection, traits } = inputs;
  if (plan.transport === "udp") return datagramListener(inputs);
  const { name, transport, chains } = plan;
  return create(ListenerSchema, {
    name,
    trafficDirection,
    ...addresses(plan),
    accessLog: [...traits.accessLogs.outbound.listener],
    filterChains: chains.map((chain) => filterChain(inputs, chain)),
    listenerFilters: [...(transport === "tcp" ? listenerFilters(inputs) : [])],
    ...acceptedAtOnce(traits),
    ...bufferLimit(traits),
    ...(transport === "quic" && { udpListenerConfig: { downstreamSocketConfig: {}, quicOptions: {} } }),
    ...(transport === "tcp" && traits.exactBalance.outbound && { connectionBalanceConfig: exactBalance }),
  });
}

/** UDP has no connections that filter chains could be chosen for. */
function datagramListener({ plan, trafficDirection, traits }: GatewayListenerInputs): Listener {
  const accessLog = traits.accessLogs.outbound.connection;
  return create(ListenerSchema, {
    name: plan.name,
    trafficDirection,
    ...addresses(plan),
    listenerFilters: plan.chains.flatMap((chain) =>
      chain.carries === "tcp" ? [datagramProxy({ ...chain, accessLog })] : [],
    ),
    udpListenerConfig: { downstreamSocketConfig: {} },
  });
}

function addresses({ transport, bind, port, extraAddresses }: GatewayListenerPlan) {
  if (bind.startsWith("/")) return { address: pipeAddress(bind) };
  const addressOf = transport === "tcp" ? socketAddress : datagramAddress;
  return {
    address: addressOf(bind, port),
    additionalAddresses: extraAddresses.map((extra) => ({ address: addressOf(extra, port) })),
  };
}

/** The header of PROXY protocol comes before the first bytes of TLS. */
function listenerFilters({ plan, takesProxyProtocol }: GatewayListenerInputs) {
  const looksAtTls = plan.chains.some(({ tls, serverNames }) => tls !== undefined || serverNames.length > 0);
  return [...(takesProxyProtocol ? [proxyProtocol] : []), ...(looksAtTls ? [tlsInspector()] : [])];
}

function filterChain(inputs: GatewayListenerInputs, chain: GatewayChain): FilterChain {
  const { serverNames, tls } = chain;
  return create(FilterChainSchema, {
    ...(serverNames.length > 0 && { filterChainMatch: { serverNames: [...serverNames], ...meshProtocols(chain) } }),
    ...handshakeTimeout(inputs.traits),
    filters: chain.carries === "http" ? httpFilters(inputs, chain) : tcpFilters(inputs, chain),
    ...(tls && { transportSocket: transportSocket(inputs, chain.carries, tls) }),
  });
}

/** Protocols that sidecars offer when they open mutual TLS. */
const offeredInMesh = ["istio", "istio-peer-exchange", "istio-http/1.0", "istio-http/1.1", "istio-h2"];

function meshProtocols(chain: GatewayChain) {
  return chain.carries === "tcp" && chain.isOfMesh ? { applicationProtocols: offeredInMesh } : {};
}

function transportSocket(
  { plan, traits, tlsDefaults: defaults, compliance, files, onDemand, secretServer }: GatewayListenerInputs,
  carries: GatewayChain["carries"],
  settings: NonNullable<GatewayChain["tls"]>,
) {
  const exchangesMetadata = carries === "tcp" && traits.exchangesMetadata;
  const inputs = { settings, defaults, compliance, files, onDemand, secretServer, exchangesMetadata };
  return (plan.transport === "quic" ? ownQuicTls : ownTls)(inputs);
}

/** QUIC has no network filters before the connection manager. */
function httpFilters(
  { plan, traits, edge, authorization, scopedRoute, picksEndpoints }: GatewayListenerInputs,
  chain: GatewayHttpChain,
): FilterChain["filters"] {
  const isHttp3 = plan.transport === "quic";
  // differs: in istiod only the first of several HTTPS servers on a port has them.
  const extensions = isHttp3 ? [] : networkPolicyFilters(traits.extensions, { side: "outbound", port: plan.port });
  const manager = connectionManager({
    traits,
    direction: "outbound",
    statPrefix: `outbound_${plan.name}`,
    statName: chain.statName,
    routes: chain.routeName === scopedRoute ? { scoped: scopedRoute } : chain.routeName,
    grpcWeb: chain.protocol === "GRPC-Web",
    port: plan.port,
    policies: authorization.http,
    late: traits.sessions ? [statefulSession] : [],
    edge,
    http3: isHttp3,
    picksEndpoints,
  });
  return [...extensions, manager];
}

function tcpFilters(
  { plan, traits, authorization }: GatewayListenerInputs,
  chain: GatewayTcpChain,
): FilterChain["filters"] {
  const { statPrefix, clusters, protocol, policy, tls, isOfMesh } = chain;
  const exchanges = tls?.mode === TlsMode.ISTIO_MUTUAL && traits.networkMetadata;
  return [
    ...(exchanges ? [metadataExchange(traits.exchangedLabels)] : []),
    ...networkPolicyFilters(
      traits.extensions,
      { side: "outbound", port: plan.port },
      isOfMesh ? undefined : authorization.network,
    ),
    ...traits.stats.outbound.network,
    ...protocolProxy(protocol, traits.protocolFilters, {
      statPrefix,
      clusters,
      accessLog: traits.accessLogs.outbound.connection,
      idleTimeout: traits.idleTimeout,
      ...policy,
    }),
  ];
}

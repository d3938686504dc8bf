/** Listeners of HBONE: one that ends tunnels, and those within Envoy that open them. */
import { hbonePort } from "@flotilla/model";
import { create, type MessageInitShape, pack } from "@flotilla/proto";
import { socketAddress } from "@flotilla/proto/addresses";
import type { AccessLog } from "@flotilla/proto/envoy/config/accesslog/v3/accesslog_pb";
import { type Filter, FilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import {
  HttpConnectionManager_ForwardClientCertDetails as ForwardClientCert,
  HttpConnectionManagerSchema,
  type HttpFilter,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import {
  type TcpProxy_TunnelingConfigSchema,
  TcpProxySchema,
} from "@flotilla/proto/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb";
import { zeroDuration } from "../duration.ts";
import { router } from "../filters/http-filters.ts";
import { networkFilter } from "../filters/network-filters.ts";
import { originalDestination } from "../listeners/listener-filters.ts";
import { exactBalance } from "../listeners/listener-parts.ts";
import type { AccessLogs } from "../listeners/listener-traits.ts";
import { baggageHeader, peerOfTunnel } from "./baggage.ts";
import { remoteEndpointState, remoteTargetKey, requestSource, sourceHeader, tunnelState } from "./filter-state.ts";
import { hboneServerTls, type TunnelTls } from "./hbone-tls.ts";

type Tunneling = MessageInitShape<typeof TcpProxy_TunnelingConfigSchema>;

export interface TerminateInputs {
  readonly address: string;
  readonly extraAddresses: readonly string[];
  readonly logs: AccessLogs;
  readonly tls: TunnelTls;
  /** Decide who may open a tunnel. */
  readonly authorization: readonly HttpFilter[];
  /** Finds the caller's workload, for telemetry. */
  readonly peerMetadata: HttpFilter | undefined;
  readonly textFactory: string;
  /** Keeps the kind of the caller, for the choice of a waypoint. */
  readonly keepsSource: boolean;
}

/** Ends tunnels: the connections within go on to `main_internal`. */
export function connectTerminateListener(inputs: TerminateInputs): Listener {
  const { address, extraAddresses, logs, tls, authorization, peerMetadata, textFactory, keepsSource } = inputs;
  return create(ListenerSchema, {
    name: "connect_terminate",
    address: socketAddress(address, hbonePort),
    additionalAddresses: extraAddresses.map((extra) => ({ address: socketAddress(extra, hbonePort) })),
    connectionBalanceConfig: exactBalance,
    accessLog: [...logs.listener],
    filterChains: [
      {
        name: "default",
        transportSocket: hboneServerTls(tls),
        filters: [
          tunnelServer(
            [
              ...authorization,
              ...(peerMetadata === undefined ? [] : [peerMetadata]),
              tunnelState(textFactory),
              ...(keepsSource ? [requestSource(textFactory)] : []),
            ],
            logs.tunnelEnd,
          ),
        ],
      },
    ],
  });
}

function tunnelServer(filters: readonly HttpFilter[], accessLog: readonly AccessLog[]): Filter {
  const upgradeConfigs = [{ upgradeType: "CONNECT" }];
  const message = create(HttpConnectionManagerSchema, {
    statPrefix: "connect_terminate",
    accessLog: [...accessLog],
    httpFilters: [...filters, router],
    routeSpecifier: {
      case: "routeConfig",
      value: {
        name: "default",
        virtualHosts: [
          {
            name: "default",
            domains: ["*"],
            routes: [
              {
                match: { pathSpecifier: { case: "connectMatcher", value: {} } },
                action: {
                  case: "route",
                  value: {
                    clusterSpecifier: { case: "cluster", value: "main_internal" },
                    upgradeConfigs: [{ upgradeType: "CONNECT", connectConfig: {} }],
                  },
                },
              },
            ],
          },
        ],
      },
    },
    http2ProtocolOptions: {
      allowConnect: true,
      maxConcurrentStreams: 100,
      connectionKeepalive: { interval: { seconds: 10n, nanos: 0 }, timeout: { seconds: 20n, nanos: 0 } },
    },
    upgradeConfigs,
    serverName: "istio-envoy",
    forwardClientCertDetails: ForwardClientCert.APPEND_FORWARD,
    setCurrentClientCertDetails: { subject: true, dns: true, uri: true },
    streamIdleTimeout: zeroDuration,
    useRemoteAddress: false,
  });
  return create(FilterSchema, {
    name: "envoy.filters.network.http_connection_manager",
    configType: { case: "typedConfig", value: pack(HttpConnectionManagerSchema, message) },
  });
}

/** Opens tunnels to the address that a connection was meant for. */
export function connectOriginateListener(logs: AccessLogs, baggage: boolean): Listener {
  const tunneling = { hostname: "%DOWNSTREAM_LOCAL_ADDRESS%", ...(baggage && baggageOptions([])) };
  return tunnelListener({
    name: "connect_originate",
    filters: [...(baggage ? [peerOfTunnel] : []), tunnelProxy("connect_originate", logs.tunnelStart, tunneling)],
    restoresDestination: true,
    logs,
  });
}

export interface InnerTunnelInputs {
  readonly logs: AccessLogs;
  /** Of the caller; empty for none. */
  readonly network: string;
  readonly textFactory: string;
  readonly baggage: boolean;
}

/** Passes on a tunnel that came within another. */
export function forwardInnerConnectListener(logs: AccessLogs): Listener {
  return tunnelListener({
    name: "forward_inner_connect",
    filters: [tunnelProxy("forward_inner_connect", logs.tunnelPassed, undefined)],
    restoresDestination: true,
    logs,
  });
}

/** Opens tunnels, within another, to a service of another network. */
export function innerConnectOriginateListener({ logs, network, textFactory, baggage }: InnerTunnelInputs): Listener {
  const headers = [header("x-forwarded-network", network)];
  return tunnelListener({
    name: "inner_connect_originate",
    filters: [
      remoteEndpointState(textFactory),
      ...(baggage ? [peerOfTunnel] : []),
      tunnelProxy("inner_connect_originate", logs.tunnelStart, {
        hostname: `%FILTER_STATE(${remoteTargetKey}:PLAIN)%`,
        ...(baggage ? baggageOptions(headers) : { headersToAdd: headers }),
      }),
    ],
    restoresDestination: false,
    logs,
  });
}

/** Opens tunnels to another network's gateway. @param source kind of the caller */
export function outerConnectOriginateListener(logs: AccessLogs, source: string): Listener {
  return tunnelListener({
    name: "outer_connect_originate",
    filters: [
      tunnelProxy("outer_connect_originate", logs.tunnelStart, {
        hostname: `%FILTER_STATE(${remoteTargetKey}:PLAIN)%`,
        headersToAdd: [header(sourceHeader, source)],
      }),
    ],
    restoresDestination: true,
    logs,
  });
}

interface TunnelListener {
  readonly name: string;
  readonly filters: readonly Filter[];
  readonly restoresDestination: boolean;
  readonly logs: AccessLogs;
}

function tunnelListener({ name, filters, restoresDestination, logs }: TunnelListener): Listener {
  return create(ListenerSchema, {
    name,
    useOriginalDst: false,
    accessLog: [...logs.listener],
    listenerSpecifier: { case: "internalListener", value: {} },
    listenerFilters: restoresDestination ? [originalDestination] : [],
    filterChains: [{ filters: [...filters] }],
  });
}

function tunnelProxy(name: string, logs: readonly AccessLog[], tunnelingConfig: Tunneling | undefined): Filter {
  const message = create(TcpProxySchema, {
    statPrefix: name,
    accessLog: [...logs],
    clusterSpecifier: { case: "cluster", value: name },
    ...(tunnelingConfig && { tunnelingConfig }),
  });
  return networkFilter("envoy.filters.network.tcp_proxy", pack(TcpProxySchema, message));
}

/** Both ends of the tunnel name themselves. */
function baggageOptions(headers: readonly ReturnType<typeof header>[]) {
  const { key, value } = baggageHeader;
  return { headersToAdd: [...headers, header(key, value)], propagateResponseHeaders: true };
}

function header(key: string, value: string) {
  // Envoy's OVERWRITE_IF_EXISTS_OR_ADD.
  return { header: { key, value }, appendAction: 2 };
}

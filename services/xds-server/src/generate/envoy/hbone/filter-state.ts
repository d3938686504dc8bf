/** Filters that keep facts of a tunnel for the connection within: who calls, whom, for which address, and of which workload. */
import { create, type JsonObject, type MessageInitShape, pack } from "@flotilla/proto";
import type { Filter } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import {
  type FilterStateValueSchema,
  FilterStateValue_SharedWithUpstream as Shared,
} from "@flotilla/proto/envoy/extensions/filters/common/set_filter_state/v3/value_pb";
import { ConfigSchema as HttpConfigSchema } from "@flotilla/proto/envoy/extensions/filters/http/set_filter_state/v3/set_filter_state_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { ConfigSchema as NetworkConfigSchema } from "@flotilla/proto/envoy/extensions/filters/network/set_filter_state/v3/set_filter_state_pb";
import { CelSchema } from "@flotilla/proto/envoy/extensions/formatter/cel/v3/cel_pb";
import { networkFilter } from "../filters/network-filters.ts";
import { istioExtensions, typedStruct } from "../istio-extensions.ts";
import { destinationMetadata } from "./internal-transport.ts";

type State = MessageInitShape<typeof FilterStateValueSchema>;

/** The address that a connection within goes to; Envoy's listener filter reads it. */
const localAddressKey = `${destinationMetadata}.local_ip`;
const remoteAddressKey = `${destinationMetadata}.remote_ip`;
/** The host and port, or address and port, that a tunnel is for. */
export const authorityKey = "io.istio.connect_authority";
/** The caller of a tunnel, for policies of the connection within. */
export const peerPrincipalKey = "io.istio.peer_principal";
/** Of an endpoint behind another network's gateway: the service's host and port. */
export const remoteTargetKey = "istio.double_hbone.hbone_target_address";

/** Takes over what a tunnel is for and who its ends are. @param textFactory makes text that connections are pooled by */
export function tunnelState(textFactory: string): HttpFilter {
  const message = create(HttpConfigSchema, {
    onRequestHeaders: [
      state(localAddressKey, "%REQ(:AUTHORITY)%"),
      text(authorityKey, "%REQ(:AUTHORITY)%", textFactory),
      state(remoteAddressKey, "%DOWNSTREAM_REMOTE_ADDRESS%"),
      text(peerPrincipalKey, "%DOWNSTREAM_PEER_URI_SAN%", textFactory),
      text("io.istio.local_principal", "%DOWNSTREAM_LOCAL_URI_SAN%", textFactory),
    ],
  });
  return create(HttpFilterSchema, {
    name: "connect_authority",
    configType: { case: "typedConfig", value: pack(HttpConfigSchema, message) },
  });
}

/** The header in which gateways and waypoints of other networks state their kind. */
export const sourceHeader = "x-istio-source";
/** The kind of caller that a tunnel's request names. */
export const sourceKey = "io.istio.source";

/** Takes over the kind of caller, for the connection within. */
export function requestSource(textFactory: string): HttpFilter {
  const message = create(HttpConfigSchema, {
    onRequestHeaders: [text(sourceKey, `%REQ(${sourceHeader})%`, textFactory)],
  });
  return create(HttpFilterSchema, {
    name: "request_source",
    configType: { case: "typedConfig", value: pack(HttpConfigSchema, message) },
  });
}

/** Hands the address on to the next tunnel, where a waypoint does nothing else. */
export const keptAddress: Filter = networkState("connect_authority", [
  state(localAddressKey, `%FILTER_STATE(${localAddressKey}:PLAIN)%`),
]);

/**
 * Where a connection goes on to that came for a host of another network and not for an address: to the service's own.
 * @param own `address:port`
 */
export function destinationOr(own: string): Filter {
  const format = `%CEL('${localAddressKey}' in filter_state ? filter_state['${localAddressKey}']: r'${own}')%`;
  const key = { case: "objectKey" as const, value: "envoy.network.transport_socket.original_dst_address" };
  const formatters = [{ name: "envoy.formatter.cel", typedConfig: pack(CelSchema, create(CelSchema)) }];
  const source = { case: "inlineString" as const, value: format };
  const formatString = { formatters, format: { case: "textFormatSource" as const, value: { specifier: source } } };
  return networkState("set_dst_address", [{ key, value: { case: "formatString", value: formatString } }]);
}

/** Takes over where an endpoint of another network is, and which service it is part of. */
export function remoteEndpointState(textFactory: string): Filter {
  const sharedWithUpstream = Shared.TRANSITIVE;
  return networkState("propagate_endpoint_metadata", [
    { ...state(localAddressKey, `%DYNAMIC_METADATA(${destinationMetadata}:local)%`), sharedWithUpstream },
    {
      ...text(remoteTargetKey, "%DYNAMIC_METADATA(istio:double_hbone:hbone_target_address)%", textFactory),
      sharedWithUpstream,
    },
  ]);
}

function networkState(name: string, onNewConnection: readonly State[]): Filter {
  const message = create(NetworkConfigSchema, { onNewConnection: [...onNewConnection] });
  return networkFilter(name, pack(NetworkConfigSchema, message));
}

function state(objectKey: string, format: string): State {
  const specifier = { case: "inlineString" as const, value: format };
  return {
    key: { case: "objectKey", value: objectKey },
    value: { case: "formatString", value: { format: { case: "textFormatSource", value: { specifier } } } },
    sharedWithUpstream: Shared.ONCE,
  };
}

function text(objectKey: string, format: string, factoryKey: string): State {
  return { ...state(objectKey, format), factoryKey };
}

const found = { workload_discovery: {} };

function metadataConfig(end: "downstream" | "upstream", baggage: boolean): JsonObject {
  if (end === "upstream") {
    const ofTunnel = { upstream_filter_state: { peer_metadata_key: "upstream_peer" } };
    return { upstream_discovery: [found, ...(baggage ? [ofTunnel] : [])] };
  }
  return {
    downstream_discovery: [found, ...(baggage ? [{ baggage: {} }] : [])],
    ...(baggage && { downstream_propagation: [{ baggage: {} }] }),
    shared_with_upstream: true,
  };
}

/** Istio's filters that find the workloads at both ends of a tunnel, for telemetry. @param baggage tunnels name themselves */
export function peerMetadataFilter(end: "downstream" | "upstream", baggage: boolean): HttpFilter {
  const value = typedStruct(istioExtensions.httpPeerMetadata, metadataConfig(end, baggage));
  return create(HttpFilterSchema, {
    name: `waypoint_${end}_peer_metadata`,
    configType: { case: "typedConfig", value },
  });
}

/**
 * The caller, as the baggage header of tunnels carries it: with it the other end identifies a workload that its own control plane does not
 * have, such as one of another network. Source: scenario ambient/baggage.
 */
import { create, type JsonObject } from "@flotilla/proto";
import { type Filter as ClusterFilter, FilterSchema } from "@flotilla/proto/envoy/config/cluster/v3/filter_pb";
import type { Filter } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { networkFilter } from "../filters/network-filters.ts";
import { istioExtensions, typedStruct } from "../istio-extensions.ts";

const filterName = "upstream_hbone_peer_metadata";
const baggageKey = "io.istio.baggage";

/** The metadata that a tunnel's end reports of itself belongs to the connection under this name, from cluster and endpoint. */
export const peerMetadata = "istio.peer_metadata";

/** Of clusters that lead to tunnels: takes over the metadata that their end reports of itself. */
export const peerOfCluster: ClusterFilter = create(FilterSchema, {
  name: filterName,
  typedConfig: typedStruct(istioExtensions.upstreamPeerMetadata, {}),
});

/** Of listeners that open tunnels: reads it from the answer. */
export const peerOfTunnel: Filter = networkFilter(
  filterName,
  typedStruct(istioExtensions.networkPeerMetadata, { baggage_key: baggageKey }),
);

/** The baggage of the caller's own tunnel, for the next one. */
export const baggageHeader = { key: "baggage", value: `%FILTER_STATE(${baggageKey}:PLAIN)%` };

/** Of clusters whose connections within the tunnel are encrypted: nothing can be added to what they carry. */
export const withoutDiscovery: JsonObject = { disable_baggage_discovery: true };

/** Istio's own extensions of Envoy. */
import type { JsonObject } from "@flotilla/proto";
import { type Any, create, pack } from "@flotilla/proto";
import { TypedStructSchema } from "@flotilla/proto/udpa/type/v1/typed_struct_pb";

/** Type URLs; a stock Envoy has none of them. */
export const istioExtensions = {
  networkMetadataExchange: "type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange",
  httpPeerMetadata: "type.googleapis.com/io.istio.http.peer_metadata.Config",
  networkPeerMetadata: "type.googleapis.com/envoy.extensions.network_filters.peer_metadata.Config",
  upstreamPeerMetadata: "type.googleapis.com/envoy.extensions.network_filters.peer_metadata.UpstreamConfig",
  alpn: "type.googleapis.com/istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig",
  stats: "type.googleapis.com/stats.PluginConfig",
} as const;

/** Labels that peers exchange beside the usual ones (PILOT_MX_ADDITIONAL_LABELS). */
export function additionalLabels(labels: readonly string[]): JsonObject {
  return labels.length === 0 ? {} : { additional_labels: [...labels] };
}

/** They travel as TypedStruct, so that proxies without their protobuf types can still parse them. */
export function typedStruct(typeUrl: string, value: JsonObject): Any {
  return pack(TypedStructSchema, create(TypedStructSchema, { typeUrl, value }));
}

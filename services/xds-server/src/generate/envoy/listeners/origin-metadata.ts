/** Names the object a filter chain comes from, as Istio's tools read it. */
import { create, type JsonObject } from "@flotilla/proto";
import { type Metadata, MetadataSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";

/** @param config path of the object in the Kubernetes API */
export function originMetadata(config: string): Metadata {
  const istio: JsonObject = { config };
  return create(MetadataSchema, { filterMetadata: { istio } });
}

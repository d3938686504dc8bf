/** Parts of listeners and their filter chains. */
import { create, type JsonObject } from "@flotilla/proto";
import { type Metadata, MetadataSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { Listener_ConnectionBalanceConfigSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import type { ListenerTraits } from "./listener-traits.ts";

/** Names the object a filter chain comes from, as Istio's tools read it. @param config path of the object in the Kubernetes API */
export function originMetadata(config: string): Metadata {
  const istio: JsonObject = { config };
  return create(MetadataSchema, { filterMetadata: { istio } });
}

/** For listeners that accept connections themselves. */
export function acceptedAtOnce({ acceptedAtOnce: most }: Pick<ListenerTraits, "acceptedAtOnce">) {
  return most === undefined ? {} : { maxConnectionsToAcceptPerSocketEvent: most };
}

/** Slow handshakes hold memory. */
export function handshakeTimeout({ handshakeTimeout: most }: Pick<ListenerTraits, "handshakeTimeout">) {
  return most === undefined ? {} : { transportSocketConnectTimeout: most };
}

/** Spreads connections evenly over the proxy's threads, at the cost of a lock for each. */
export const exactBalance = create(Listener_ConnectionBalanceConfigSchema, {
  balanceType: { case: "exactBalance", value: {} },
});

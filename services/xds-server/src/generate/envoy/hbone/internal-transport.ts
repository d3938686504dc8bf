/** Transport sockets towards listeners of the same Envoy: they carry metadata along with the connection. */
import { create, pack } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { InternalUpstreamTransportSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/internal_upstream/v3/internal_upstream_pb";
import { plainText, unencrypted } from "../tls/upstream-tls.ts";
import { peerMetadata } from "./baggage.ts";

/** The key under which an endpoint has the address that it stands for, and the waypoint before it. */
export const destinationMetadata = "envoy.filters.listener.original_dst";

type Source = readonly [kind: "host" | "cluster", name: string];

interface InternalTransport {
  readonly name: string;
  readonly passes: readonly Source[];
  /** Around the connection within. */
  readonly inner: TransportSocket;
}

export function internalTransport({ name, passes, inner }: InternalTransport): TransportSocket {
  const message = create(InternalUpstreamTransportSchema, {
    passthroughMetadata: passes.map(([kind, key]) => ({ name: key, kind: { kind: { case: kind, value: {} } } })),
    transportSocket: inner,
  });
  return create(TransportSocketSchema, {
    name,
    configType: { case: "typedConfig", value: pack(InternalUpstreamTransportSchema, message) },
  });
}

/** Carries nothing along. */
export const plainInternal = internalTransport({ name: "internal_upstream", passes: [], inner: unencrypted });

const peerPasses: readonly Source[] = [
  ["cluster", peerMetadata],
  ["host", peerMetadata],
];

/** From a waypoint to the endpoints of a service. @param inner around the connection within, where a rule asks for TLS */
export function waypointTransport(inner: TransportSocket = unencrypted, baggage = false): TransportSocket {
  return internalTransport({
    name: "internal_upstream",
    passes: [["host", destinationMetadata], ["host", "istio"], ...(baggage ? peerPasses : [])],
    inner,
  });
}

/** From a sidecar or gateway to endpoints that take HBONE. @param inner as of `waypointTransport` */
export function hboneTransport(inner: TransportSocket = plainText, baggage = false): TransportSocket {
  return internalTransport({
    name: "envoy.transport_sockets.internal_upstream",
    passes: [["host", destinationMetadata], ["cluster", "istio"], ["host", "istio"], ...(baggage ? peerPasses : [])],
    inner,
  });
}

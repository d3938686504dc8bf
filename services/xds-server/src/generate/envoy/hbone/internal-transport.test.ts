import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, toJson } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { plainText, unencrypted } from "../tls/upstream-tls.ts";
import { peerMetadata } from "./baggage.ts";
import { destinationMetadata, hboneTransport, plainInternal, waypointTransport } from "./internal-transport.ts";

const tls = create(TransportSocketSchema, { name: "tls" });
const host = (name: string) => ({ name, kind: { host: {} } });
const cluster = (name: string) => ({ name, kind: { cluster: {} } });
const destination = host(destinationMetadata);
const peer = [cluster(peerMetadata), host(peerMetadata)];

describe("transports within an Envoy", () => {
  const short = "internal_upstream";
  const long = "envoy.transport_sockets.internal_upstream";
  const ofWaypoint = [destination, host("istio")];
  const ofHbone = [destination, cluster("istio"), host("istio")];
  const cases: readonly (readonly [
    title: string,
    transport: TransportSocket,
    name: string,
    passes: readonly object[],
    inner: TransportSocket,
  ])[] = [
    ["of its own listeners carry nothing", plainInternal, short, [], unencrypted],
    ["of a waypoint carry the destination and the host's part", waypointTransport(), short, ofWaypoint, unencrypted],
    ["of a waypoint may carry TLS within", waypointTransport(tls), short, ofWaypoint, tls],
    ["of a waypoint may carry the peer", waypointTransport(tls, true), short, [...ofWaypoint, ...peer], tls],
    ["to HBONE carry the cluster's part too", hboneTransport(), long, ofHbone, plainText],
    ["to HBONE may carry TLS within", hboneTransport(tls), long, ofHbone, tls],
    ["to HBONE may carry the peer", hboneTransport(tls, true), long, [...ofHbone, ...peer], tls],
  ];
  for (const [title, transport, name, passes, inner] of cases)
    it(title, () =>
      assert.deepEqual(toJson(TransportSocketSchema, transport), {
        name,
        typedConfig: {
          "@type":
            "type.googleapis.com/envoy.extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport",
          ...(passes.length > 0 && { passthroughMetadata: passes }),
          transportSocket: toJson(TransportSocketSchema, inner),
        },
      }),
    );
});

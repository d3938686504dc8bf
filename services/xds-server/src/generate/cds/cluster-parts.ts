/** Parts that clusters of several kinds have in common. */
import { type Any, create, pack } from "@flotilla/proto";
import {
  type CircuitBreakers,
  CircuitBreakersSchema,
} from "@flotilla/proto/envoy/config/cluster/v3/circuit_breaker_pb";
import { type Filter, FilterSchema } from "@flotilla/proto/envoy/config/cluster/v3/filter_pb";
import { type Metadata, MetadataSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { HttpProtocolOptionsSchema } from "@flotilla/proto/envoy/extensions/upstreams/http/v3/http_protocol_options_pb";
import type { ConnectionPoolSettings } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { istioExtensions } from "../shared/istio-extensions.ts";
import { typedStruct } from "../shared/typed-struct.ts";

/** Istio bounds nothing unless it is asked to. */
const unlimited = 0xffff_ffff;
export const httpOptionsKey = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

export function circuitBreakers(pool?: ConnectionPoolSettings): CircuitBreakers {
  const { tcp, http } = pool ?? {};
  const or = (value: number | undefined) => (value === undefined || value === 0 ? unlimited : value);
  return create(CircuitBreakersSchema, {
    thresholds: [
      {
        maxConnections: or(tcp?.maxConnections),
        maxPendingRequests: or(http?.http1MaxPendingRequests),
        maxRequests: or(http?.http2MaxRequests),
        maxRetries: or(http?.maxRetries),
      },
    ],
  });
}

export const http2Options: Any = pack(
  HttpProtocolOptionsSchema,
  create(HttpProtocolOptionsSchema, {
    upstreamProtocolOptions: {
      case: "explicitHttpConfig",
      value: { protocolConfig: { case: "http2ProtocolOptions", value: {} } },
    },
  }),
);

/** Traffic that passes through keeps the protocol it came with. */
export const passthroughHttpOptions: Any = pack(
  HttpProtocolOptionsSchema,
  create(HttpProtocolOptionsSchema, {
    commonHttpProtocolOptions: { idleTimeout: { seconds: 300n, nanos: 0 } },
    upstreamProtocolOptions: {
      case: "useDownstreamProtocolConfig",
      value: { httpProtocolOptions: {}, http2ProtocolOptions: {} },
    },
  }),
);

export const metadataExchangeFilter: Filter = create(FilterSchema, {
  name: "istio.metadata_exchange",
  typedConfig: typedStruct(istioExtensions.networkMetadataExchange, {
    enable_discovery: true,
    protocol: "istio-peer-exchange",
  }),
});

export interface ServiceLabel {
  readonly hostname: string;
  readonly name: string;
  readonly namespace: string;
}

/** Names the services behind a cluster, and the rule and subset that made it. */
export function clusterMetadata(
  services: readonly ServiceLabel[],
  rule?: { readonly path: string; readonly subset: string },
): Metadata {
  return create(MetadataSchema, {
    filterMetadata: {
      istio: {
        ...(services.length > 0 && {
          services: services.map(({ hostname: host, name, namespace }) => ({ host, name, namespace })),
        }),
        ...(rule && { config: rule.path }),
        ...(rule && rule.subset !== "" && { subset: rule.subset }),
      },
    },
  });
}

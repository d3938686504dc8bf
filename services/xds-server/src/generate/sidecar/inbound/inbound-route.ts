/** The one route of an inbound port: everything goes to the workload. */
import { create } from "@flotilla/proto";
import type { RetryPolicy } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { type RouteConfiguration, RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { zeroDuration } from "../../envoy/duration.ts";

export interface InboundRouteInputs {
  readonly cluster: string;
  /** `host:port` of the service, for the names of trace spans. */
  readonly operation: string;
  readonly servicePort: number;
  readonly retryPolicy: RetryPolicy | undefined;
}

export function inboundRoute({ cluster, operation, servicePort, retryPolicy }: InboundRouteInputs): RouteConfiguration {
  return create(RouteConfigurationSchema, {
    name: cluster,
    validateClusters: false,
    virtualHosts: [
      {
        name: `inbound|http|${servicePort}`,
        domains: ["*"],
        routes: [
          {
            name: "default",
            match: { pathSpecifier: { case: "prefix", value: "/" } },
            decorator: { operation: `${operation}/*` },
            action: {
              case: "route",
              value: {
                clusterSpecifier: { case: "cluster", value: cluster },
                timeout: zeroDuration,
                maxStreamDuration: { maxStreamDuration: zeroDuration, grpcTimeoutHeaderMax: zeroDuration },
                ...(retryPolicy && { retryPolicy }),
              },
            },
          },
        ],
      },
    ],
  });
}

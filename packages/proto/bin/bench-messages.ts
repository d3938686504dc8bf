/** The four messages whose encoding is timed: sizes as a sidecar of a large mesh gets them. */
import { create, type MessageShape, pack } from "@flotilla/proto";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_TransportSocketMatchSchema,
  ClusterSchema,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import {
  LbEndpointSchema,
  LocalityLbEndpointsSchema,
} from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_components_pb";
import { ClusterLoadAssignmentSchema } from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import { FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { type RouteConfiguration, RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { HttpConnectionManagerSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { UpstreamTlsContextSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";

const host = (i: number) => `service-${i}.namespace-${i % 20}.svc.cluster.local`;
const span = (length: number) => Array.from({ length }, (_, i) => i);

export function aCluster(): Cluster {
  const sds = (name: string) => ({
    name,
    sdsConfig: { configSourceSpecifier: { case: "ads" as const, value: {} }, initialFetchTimeout: { seconds: 0n } },
  });
  const tls = create(UpstreamTlsContextSchema, {
    sni: `outbound_.80_._.${host(1)}`,
    commonTlsContext: {
      alpnProtocols: ["istio-peer-exchange", "istio", "h2"],
      tlsCertificateSdsSecretConfigs: [sds("default")],
      validationContextType: {
        case: "combinedValidationContext",
        value: { validationContextSdsSecretConfig: sds("ROOTCA"), defaultValidationContext: {} },
      },
    },
  });
  return create(ClusterSchema, {
    name: `outbound|80||${host(1)}`,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { serviceName: `outbound|80||${host(1)}` },
    connectTimeout: { seconds: 10n },
    circuitBreakers: { thresholds: [{ maxConnections: 4294967295, maxRequests: 4294967295, trackRemaining: true }] },
    metadata: {
      filterMetadata: { istio: { services: [{ host: host(1), name: "service-1", namespace: "namespace-1" }] } },
    },
    transportSocketMatches: [
      create(Cluster_TransportSocketMatchSchema, {
        name: "tlsMode-istio",
        match: { tlsMode: "istio" },
        transportSocket: {
          name: "envoy.transport_sockets.tls",
          configType: { case: "typedConfig", value: pack(UpstreamTlsContextSchema, tls) },
        },
      }),
    ],
  });
}

export function aListener(): Listener {
  return create(ListenerSchema, {
    name: "virtualInbound",
    address: {
      address: {
        case: "socketAddress",
        value: { address: "0.0.0.0", portSpecifier: { case: "portValue", value: 15006 } },
      },
    },
    filterChains: span(4).map((i) => {
      const manager = create(HttpConnectionManagerSchema, {
        statPrefix: `inbound_0.0.0.0_${i}`,
        routeSpecifier: { case: "routeConfig", value: aRouteConfiguration(2) },
        httpFilters: span(6).map((n) => ({ name: `envoy.filters.http.filter-${n}` })),
      });
      return create(FilterChainSchema, {
        name: `0.0.0.0_${8080 + i}`,
        filterChainMatch: {
          destinationPort: 8080 + i,
          transportProtocol: "tls",
          applicationProtocols: ["istio", "h2"],
        },
        filters: [
          {
            name: "envoy.filters.network.http_connection_manager",
            configType: { case: "typedConfig", value: pack(HttpConnectionManagerSchema, manager) },
          },
        ],
      });
    }),
  });
}

export function aRouteConfiguration(hosts: number): RouteConfiguration {
  return create(RouteConfigurationSchema, {
    name: "80",
    validateClusters: false,
    virtualHosts: span(hosts).map((i) =>
      create(VirtualHostSchema, {
        name: `${host(i)}:80`,
        domains: [host(i), `${host(i)}:80`, `service-${i}`, `service-${i}.namespace-${i % 20}`],
        routes: [
          {
            name: "default",
            match: { pathSpecifier: { case: "prefix", value: "/" } },
            decorator: { operation: `${host(i)}:80/*` },
            action: {
              case: "route",
              value: {
                clusterSpecifier: { case: "cluster", value: `outbound|80||${host(i)}` },
                timeout: { seconds: 0n },
                retryPolicy: { retryOn: "connect-failure,refused-stream", numRetries: 2 },
              },
            },
          },
        ],
      }),
    ),
  });
}

export function anAssignment(endpoints: number): MessageShape<typeof ClusterLoadAssignmentSchema> {
  return create(ClusterLoadAssignmentSchema, {
    clusterName: `outbound|80||${host(1)}`,
    endpoints: [
      create(LocalityLbEndpointsSchema, {
        locality: { region: "region", zone: "zone" },
        lbEndpoints: span(endpoints).map((i) =>
          create(LbEndpointSchema, {
            hostIdentifier: {
              case: "endpoint",
              value: {
                address: {
                  address: {
                    case: "socketAddress",
                    value: { address: `10.0.${i >> 8}.${i & 255}`, portSpecifier: { case: "portValue", value: 8080 } },
                  },
                },
              },
            },
            loadBalancingWeight: 1,
            metadata: {
              filterMetadata: {
                "envoy.transport_socket_match": { tlsMode: "istio" },
                istio: { workload: `w-${i};ns;app;v1;c` },
              },
            },
          }),
        ),
      }),
    ],
  });
}

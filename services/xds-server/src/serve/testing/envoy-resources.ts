/** The few real Envoy resources that the tests with an Envoy serve. */
import { checksum } from "@flotilla/model";
import {
  create,
  encode,
  type GenMessage,
  type Message,
  type MessageInitShape,
  pack,
  type TypeUrl,
  typeUrl as types,
} from "@flotilla/proto";
import { Cluster_DiscoveryType, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { ClusterLoadAssignmentSchema } from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import { ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { RouterSchema } from "@flotilla/proto/envoy/extensions/filters/http/router/v3/router_pb";
import { HttpConnectionManagerSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { SecretSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { DownstreamTlsContextSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import type { Resource } from "@flotilla/xds";

const overAds = { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: 2 } as const;

function resource<M extends Message>(
  typeUrl: TypeUrl,
  name: string,
  schema: GenMessage<M>,
  init: MessageInitShape<GenMessage<M>>,
): Resource {
  const bytes = encode(schema, create(schema, init));
  return { name, typeUrl, bytes, version: checksum(Buffer.from(bytes).toString("latin1")).repeat(2) };
}

export function cluster(name: string, connectSeconds = 1): Resource {
  return resource(types.cluster, name, ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: overAds },
    connectTimeout: { seconds: BigInt(connectSeconds), nanos: 0 },
  });
}

export function endpoints(clusterName: string, port: number): Resource {
  const socketAddress = { address: "127.0.0.1", portSpecifier: { case: "portValue", value: port } } as const;
  const endpoint = { address: { address: { case: "socketAddress", value: socketAddress } } } as const;
  return resource(types.endpoint, clusterName, ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: endpoint } }] }],
  });
}

export function route(name: string, toCluster: string): Resource {
  const action = { clusterSpecifier: { case: "cluster", value: toCluster } } as const;
  return resource(types.route, name, RouteConfigurationSchema, {
    name,
    virtualHosts: [
      {
        name: "all",
        domains: ["*"],
        routes: [
          { match: { pathSpecifier: { case: "prefix", value: "/" } }, action: { case: "route", value: action } },
        ],
      },
    ],
  });
}

export interface ListenerOptions {
  readonly routeName: string;
  readonly port: number;
  /** Changes the listener without changing what it does. */
  readonly statPrefix?: string;
  /** The secret of its certificate; plaintext without. */
  readonly secret?: string;
}

export function listener(name: string, { routeName, port, statPrefix = "in", secret }: ListenerOptions): Resource {
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix,
    routeSpecifier: { case: "rds", value: { configSource: overAds, routeConfigName: routeName } },
    httpFilters: [
      {
        name: "envoy.filters.http.router",
        configType: { case: "typedConfig", value: pack(RouterSchema, create(RouterSchema)) },
      },
    ],
  });
  const tls =
    secret === undefined
      ? undefined
      : create(DownstreamTlsContextSchema, {
          commonTlsContext: { tlsCertificateSdsSecretConfigs: [{ name: secret, sdsConfig: overAds }] },
        });
  return resource(types.listener, name, ListenerSchema, {
    name,
    address: {
      address: {
        case: "socketAddress",
        value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: port } },
      },
    },
    filterChains: [
      {
        filters: [
          {
            name: "envoy.filters.network.http_connection_manager",
            configType: { case: "typedConfig", value: pack(HttpConnectionManagerSchema, manager) },
          },
        ],
        ...(tls && {
          transportSocket: {
            name: "envoy.transport_sockets.tls",
            configType: { case: "typedConfig", value: pack(DownstreamTlsContextSchema, tls) },
          },
        }),
      },
    ],
  });
}

export function secret(name: string, keyPem: string, certificatePem: string): Resource {
  const inline = (text: string) => ({ specifier: { case: "inlineString", value: text } }) as const;
  return resource(types.secret, name, SecretSchema, {
    name,
    type: {
      case: "tlsCertificate",
      value: { privateKey: inline(keyPem), certificateChain: inline(certificatePem) },
    },
  });
}

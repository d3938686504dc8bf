/** Network filters of a filter chain that carries bytes. */
import type { Protocol } from "@flotilla/model";
import { type Any, create, pack } from "@flotilla/proto";
import { MySQLProxySchema } from "@flotilla/proto/contrib/envoy/extensions/filters/network/mysql_proxy/v3/mysql_proxy_pb";
import type { AccessLog } from "@flotilla/proto/envoy/config/accesslog/v3/accesslog_pb";
import { type Filter, FilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { MongoProxySchema } from "@flotilla/proto/envoy/extensions/filters/network/mongo_proxy/v3/mongo_proxy_pb";
import { RedisProxySchema } from "@flotilla/proto/envoy/extensions/filters/network/redis_proxy/v3/redis_proxy_pb";
import { TcpProxySchema } from "@flotilla/proto/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb";
import { parseDuration } from "../duration.ts";
import { additionalLabels, istioExtensions, typedStruct } from "../istio-extensions.ts";

export interface WeightedCluster {
  readonly name: string;
  readonly weight: number;
}

export interface TcpProxyInputs {
  readonly statPrefix: string;
  /** One cluster, or several that share by weight. */
  readonly clusters: string | readonly WeightedCluster[];
  readonly accessLog?: readonly AccessLog[];
  /** Text of a duration; empty for Envoy's default. */
  readonly idleTimeout?: string;
  /** Text of a duration. */
  readonly maxDuration?: string;
  /** One caller keeps to one endpoint. */
  readonly hashSourceIp?: boolean;
  /** Through a forward proxy, by CONNECT or POST. */
  readonly tunnel?: { readonly target: string; readonly usePost: boolean };
}

export function tcpProxy(inputs: TcpProxyInputs): Filter {
  const { statPrefix, clusters, accessLog = [], idleTimeout = "", maxDuration = "", hashSourceIp, tunnel } = inputs;
  const idle = parseDuration(idleTimeout);
  const longest = parseDuration(maxDuration);
  const message = create(TcpProxySchema, {
    statPrefix,
    clusterSpecifier:
      typeof clusters === "string"
        ? { case: "cluster", value: clusters }
        : { case: "weightedClusters", value: { clusters: [...clusters] } },
    accessLog: [...accessLog],
    ...(idle && { idleTimeout: idle }),
    ...(longest && { maxDownstreamConnectionDuration: longest }),
    ...(hashSourceIp && { hashPolicy: [{ policySpecifier: { case: "sourceIp" as const, value: {} } }] }),
    ...(tunnel && { tunnelingConfig: { hostname: tunnel.target, usePost: tunnel.usePost } }),
  });
  return networkFilter("envoy.filters.network.tcp_proxy", pack(TcpProxySchema, message));
}

/** Filters that look into the bytes of a protocol, where a setting asks for them. */
export interface ProtocolFilters {
  readonly mongo: boolean;
  readonly mysql: boolean;
  readonly redis: boolean;
}

/** Filters of a chain that ends at a cluster: what understands the protocol, and what passes the bytes on. */
export function protocolProxy(protocol: Protocol, choice: ProtocolFilters, tcp: TcpProxyInputs): readonly Filter[] {
  const { statPrefix, clusters } = tcp;
  if (protocol === "Redis" && choice.redis && typeof clusters === "string") return [redisProxy(statPrefix, clusters)];
  if (protocol === "Mongo" && choice.mongo) return [mongoProxy(statPrefix), tcpProxy(tcp)];
  if (protocol === "MySQL" && choice.mysql) return [mysqlProxy(statPrefix), tcpProxy(tcp)];
  return [tcpProxy(tcp)];
}

function mongoProxy(statPrefix: string): Filter {
  const message = create(MongoProxySchema, { statPrefix });
  return networkFilter("envoy.filters.network.mongo_proxy", pack(MongoProxySchema, message));
}

function mysqlProxy(statPrefix: string): Filter {
  const message = create(MySQLProxySchema, { statPrefix });
  return networkFilter("envoy.filters.network.mysql_proxy", pack(MySQLProxySchema, message));
}

function redisProxy(statPrefix: string, cluster: string): Filter {
  const message = create(RedisProxySchema, {
    statPrefix,
    latencyInMicros: true,
    settings: { opTimeout: { seconds: 5n, nanos: 0 } },
    prefixRoutes: { catchAllRoute: { cluster } },
  });
  return networkFilter("envoy.filters.network.redis_proxy", pack(RedisProxySchema, message));
}

/** Exchanges the workloads' metadata at the start of a TCP connection, negotiated by ALPN. @param labels beside the usual ones */
export function metadataExchange(labels: readonly string[]): Filter {
  return labels.length === 0 ? plainExchange : exchangeOf(labels);
}

function exchangeOf(labels: readonly string[]): Filter {
  const value = { enable_discovery: true, protocol: "istio-peer-exchange", ...additionalLabels(labels) };
  return networkFilter("istio.metadata_exchange", typedStruct(istioExtensions.networkMetadataExchange, value));
}

const plainExchange = exchangeOf([]);

export function networkFilter(name: string, value: Any): Filter {
  return create(FilterSchema, { name, configType: { case: "typedConfig", value } });
}

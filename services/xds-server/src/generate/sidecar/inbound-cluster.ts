/** The clusters towards the workload behind a sidecar, one a port. */
import { type IpMode, isIpv4, isIpv6 } from "@flotilla/model";
import { create, type Duration } from "@flotilla/proto";
import { pipeAddress, socketAddress } from "@flotilla/proto/addresses";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { type BindConfig, BindConfigSchema } from "@flotilla/proto/envoy/config/core/v3/address_pb";
import { MeshConfig_InboundTrafficPolicy_Mode } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type {
  ConnectionPoolSettings,
  TrafficPolicy_RetryBudget as RetryBudget,
  ConnectionPoolSettings_TCPSettings_TcpKeepalive as TcpKeepalive,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { inboundRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { targetService } from "../../snapshot/scope/services.ts";
import { sidecarOf } from "../../snapshot/scope/sidecar.ts";
import { visibleService } from "../../snapshot/scope/sidecar-scope.ts";
import { query, type View } from "../../snapshot/view.ts";
import { clusterMetadata, rulePath, type ServiceLabel } from "../envoy/clusters/cluster-parts.ts";
import { circuitBreakers, connectionOptions, httpOptions } from "../envoy/clusters/connection-pool.ts";
import { clusterTraits } from "../select/cluster-traits.ts";
import { usedFamilies } from "../select/dns.ts";
import { meshPool, trafficPolicyOf } from "../select/traffic-policy.ts";
import { capturesNothing, type InboundPort, inboundPorts } from "./inbound/inbound-ports.ts";

export interface InboundClusterInputs {
  readonly kind: "inbound";
  readonly name: string;
  readonly port: InboundPort;
  readonly connectTimeout: Duration | undefined;
  readonly keepalive: TcpKeepalive | undefined;
  readonly pool: ConnectionPoolSettings | undefined;
  readonly retryBudget: RetryBudget | undefined;
  readonly tracksRemaining: boolean;
  /** Path of the DestinationRule of the workload's service, which bounds connections on this side too. */
  readonly rule: string | undefined;
  readonly services: readonly ServiceLabel[];
  /** The address where the Sidecar declares that the workload listens; empty: the connection's original destination. */
  readonly endpoint: string;
  readonly ipMode: IpMode;
  readonly preservesCase: boolean;
}

/** A proxy that captures nothing serves only what a Sidecar opens: its workload holds the services' ports itself. */
export const inboundClusterNames = query<readonly string[]>("inbound-cluster-names", (view) => {
  const isCaptured = !capturesNothing(view);
  return view
    .read(inboundPorts)
    .filter(({ origin, bindToPort }) => origin !== undefined || bindToPort || isCaptured)
    .map(({ port }) => `inbound|${port}||`);
});

interface OwnService extends ServiceLabel {
  readonly isExternal: boolean;
}

/** The services that share a workload port under the same port of their own as the first. */
const servicesOfPort = query<readonly OwnService[], number>(
  "services-of-port",
  (view, targetPort) => {
    const targets = view.proxy.targets.filter((target) => target.targetPort === targetPort);
    const [first] = targets;
    if (first === undefined) return [];
    const { port, portName } = first;
    const hostnames = new Set(targets.filter((target) => target.port === port).map(({ hostname }) => hostname));
    return [...hostnames].map((hostname) => {
      const { namespace } = view.proxy;
      const service = targetService(view, { namespace, hostname, port, portName });
      const { name = "", registry = "", meshExternal: isExternal = false } = service ?? {};
      return { hostname, namespace, name, registry, isExternal };
    });
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** The services that a cluster's port stands for. */
export function inboundHosts(view: View, name: string): readonly string[] {
  const port = view.read(inboundPorts).find((one) => `inbound|${one.port}||` === name);
  return port === undefined ? [] : servicesBehind(view, port).map(({ hostname }) => hostname);
}

/** An ingress listener of a Sidecar stands for the first service of its port alone. Source: istiod asked. */
function servicesBehind(view: View, { port, origin }: InboundPort): readonly OwnService[] {
  const services = view.read(servicesOfPort, port);
  return origin === undefined ? services : services.slice(0, 1);
}

export function selectInboundCluster(view: View, name: string): InboundClusterInputs | undefined {
  const port = view.read(inboundPorts).find((one) => `inbound|${one.port}||` === name);
  if (port === undefined) return undefined;
  const sidecar = view.read(sidecarOf)?.spec;
  const ingress =
    port.origin === undefined ? undefined : sidecar?.ingress.find((one) => one.port?.number === port.port);
  const services = servicesBehind(view, port);
  const [service] = services;
  // Rules are known of services in scope only, even where the service is the workload's own.
  const isRuled = service && visibleService(view, service.hostname) !== undefined;
  const rule = isRuled ? inboundRuleOf(view, service) : undefined;
  const policy = rule && trafficPolicyOf(rule.spec, port.servicePort, "");
  const pool = ingress?.connectionPool ?? sidecar?.inboundConnectionPool ?? policy?.connectionPool ?? meshPool(view);
  return {
    kind: "inbound",
    name,
    port,
    connectTimeout: pool?.tcp?.connectTimeout ?? view.mesh.connectTimeout,
    keepalive: view.mesh.tcpKeepalive,
    pool,
    tracksRemaining: view.read(clusterTraits).tracksRemaining,
    retryBudget: policy?.retryBudget,
    rule: rule?.spec.trafficPolicy && rulePath(rule.key),
    // A service that the mesh takes for foreign is reported by its callers, not by itself. Source: corpus xds, TestServiceScoping.
    services: view.read(clusterTraits).namesServices && service?.isExternal !== true ? services : [],
    endpoint: ingress === undefined ? ownEndpoint(view, port.port) : reachableEndpoint(view, ingress.defaultEndpoint),
    ipMode: usedFamilies(view),
    preservesCase: view.read(clusterTraits).preservesCase,
  };
}

/** The connection's original destination, unless the mesh's policy is LOCALHOST: workloads then listen at their loopback address only. */
function ownEndpoint({ mesh, proxy }: View, port: number): string {
  if (mesh.inboundTrafficPolicy?.mode !== MeshConfig_InboundTrafficPolicy_Mode.LOCALHOST) return "";
  return `${proxy.ipMode === "ipv6" ? "[::1]" : "127.0.0.1"}:${port}`;
}

/**
 * A wildcard stands for the workload's own address of its family, or for loopback where the workload has none. Loopback is
 * that of the other family where the proxy lacks the one. Empty, where the connection was going, for all else that is no socket's path.
 */
function reachableEndpoint({ proxy }: View, endpoint: string): string {
  if (endpoint.startsWith("unix://")) return endpoint;
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(endpoint) ?? [];
  const at = (address: string) => (address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`);
  switch (host) {
    case "0.0.0.0":
      return at(proxy.addresses.find(isIpv4) ?? "127.0.0.1");
    case "[::]":
      return at(proxy.addresses.find(isIpv6) ?? "::1");
    case "127.0.0.1":
      return at(proxy.ipMode === "ipv6" ? "::1" : "127.0.0.1");
    case "[::1]":
      return at(proxy.ipMode === "ipv4" ? "127.0.0.1" : "::1");
    default:
      return "";
  }
}

export function buildInboundCluster(inputs: InboundClusterInputs): Cluster {
  const { name, port, pool, rule, services, endpoint, keepalive } = inputs;
  return create(ClusterSchema, {
    name,
    altStatName: `${port.statName || name};`,
    connectTimeout: inputs.connectTimeout ?? { seconds: 10n, nanos: 0 },
    circuitBreakers: circuitBreakers(inputs),
    ...connectionOptions(keepalive, pool?.tcp?.tcpKeepalive),
    commonLbConfig: {},
    ...clusterMetadata({ services, rule }),
    ...httpOptions({
      protocol: port.protocol,
      pool,
      mayUpgrade: false,
      meshUpgrades: false,
      sniffs: true,
      preservesCase: inputs.preservesCase,
    }),
    ...(isLoopback(endpoint) ? {} : { upstreamBindConfig: sourceOfInbound(inputs.ipMode) }),
    ...(endpoint === "" ? originalDestination : staticEndpoint(name, endpoint)),
  });
}

/** Connections inside of the workload's host are not redirected, whatever their source. */
function isLoopback(endpoint: string): boolean {
  return endpoint.startsWith("127.0.0.1:") || endpoint.startsWith("[::1]:");
}

const originalDestination = {
  clusterDiscoveryType: { case: "type" as const, value: Discovery.ORIGINAL_DST },
  lbPolicy: LbPolicy.CLUSTER_PROVIDED,
  // Each destination is the workload itself: there is nothing to clean up.
  cleanupInterval: { seconds: 9223372035n, nanos: 0 },
};

function staticEndpoint(clusterName: string, endpoint: string) {
  const address = endpoint.startsWith("unix://")
    ? pipeAddress(endpoint.slice("unix://".length))
    : hostAndPort(endpoint);
  return {
    clusterDiscoveryType: { case: "type" as const, value: Discovery.STATIC },
    loadAssignment: {
      clusterName,
      endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint" as const, value: { address } } }] }],
    },
  };
}

function hostAndPort(text: string) {
  const colon = text.lastIndexOf(":");
  return socketAddress(text.slice(0, colon).replace(/^\[(.*)\]$/, "$1"), Number(text.slice(colon + 1)));
}

/** Where connections to the workload seem to come from, so that they are not redirected again. */
export function sourceOfInbound(ipMode: IpMode): BindConfig {
  const of = (address: string) => ({ address, portSpecifier: { case: "portValue" as const, value: 0 } });
  return create(BindConfigSchema, {
    sourceAddress: of(ipMode === "ipv6" ? "::6" : "127.0.0.6"),
    ...(ipMode === "dual" && { extraSourceAddresses: [{ address: of("::6") }] }),
  });
}

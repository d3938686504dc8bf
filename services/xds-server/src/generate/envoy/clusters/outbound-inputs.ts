/** The plain data that an outbound cluster is made of, and what all clusters of a proxy have in common. */

import type { IpMode, Service, ServicePort } from "@flotilla/model";
import type { Duration } from "@flotilla/proto";
import type { MeshConfig_TLSConfig as TlsDefaults } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type {
  ConnectionPoolSettings_TCPSettings_TcpKeepalive as TcpKeepalive,
  TrafficPolicy,
  ZoneAwareLoadBalancerSetting,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { EndpointInputs } from "../endpoints/endpoint-inputs.ts";
import type { FileServer, SecretServer } from "../tls/agent-secret.ts";
import type { CompliancePolicy } from "../tls/compliance.ts";

/** How connections of a cluster may be carried to endpoints: as they are, by HBONE where an endpoint takes it, or within a waypoint. */
export type HboneUse = "off" | "by-endpoint" | "waypoint" | "east-west";

export interface OutboundClusterInputs {
  readonly kind: "outbound";
  readonly name: string;
  readonly altStatName: string;
  readonly service: Service;
  readonly port: ServicePort;
  readonly subset: string;
  /** The caller's bytes pass as they are: neither TLS nor a header is put around them. */
  readonly passesTls: boolean;
  readonly policy: TrafficPolicy | undefined;
  /** Path of the DestinationRule in the Kubernetes API. */
  readonly rule: string | undefined;
  /** Credentials that the rule names are served to the proxy: to routers, and to sidecars that the rule selects. */
  readonly mayUseSecrets: boolean;
  /** Name of the key pair that a gateway shows to back ends; "" for none. */
  readonly clientCredential: string;
  readonly connectTimeout: Duration | undefined;
  readonly keepalive: TcpKeepalive | undefined;
  /** The proxy finds out what callers speak, and speaks the same. Routers do not: their servers have a protocol. */
  readonly followsCallers: boolean;
  readonly meshUpgrades: boolean;
  readonly dnsRefreshRate: Duration | undefined;
  readonly ipMode: IpMode;
  readonly isOriginalDestination: boolean;
  /** A service found by DNS, whose rule selects the connection's original destination: it keeps how names are resolved. */
  readonly keepsResolution: boolean;
  /** The port that is called at the original destination; undefined: the one that the caller chose. */
  readonly upstreamPort: number | undefined;
  /** Hosts below a wildcard, resolved as requests for them come. */
  readonly isDynamic: boolean;
  readonly autoMtlsMatches: "none" | "every-endpoint" | "by-endpoint";
  readonly hbone: HboneUse;
  /** The layer that a waypoint carries to the service, HTTP or connections; "" for clusters of other proxies. */
  readonly layer: "" | "http" | "tcp";
  /** Every endpoint takes HBONE, and callers send no metadata of their own. */
  readonly isAmbient: boolean;
  readonly traits: ClusterTraits;
  readonly subjectAltNames: string;
  /** Files of client certificates, one a line; empty for the agent's. */
  readonly files: string;
  readonly keepsSessions: boolean;
  /** An endpoint picker names the endpoint of each request. */
  readonly followsPicker: boolean;
  readonly hasLocality: boolean;
  /** Envoy divides requests among zones by itself, or must not. */
  readonly zones: ZoneAwareLoadBalancerSetting | undefined;
  /** The service has a traffic distribution: endpoints that are not ready are sent, and must not be called in a panic. */
  readonly isDistributed: boolean;
  /** For services found by DNS: their endpoints are part of the cluster. */
  readonly endpoints: EndpointInputs | undefined;
}

/** Settings of the control plane and of the mesh. */
export interface ClusterTraits {
  /** Proxies exchange metadata of their workloads on TCP. */
  readonly exchangesMetadata: boolean;
  /** Offered in the handshake: a server that agrees sends bytes which only a proxy with the filter takes out again. */
  readonly offersPeerExchange: boolean;
  /** Tunnels name the caller. */
  readonly carriesBaggage: boolean;
  /** Clusters name the services behind them, for telemetry. */
  readonly namesServices: boolean;
  readonly weighsLocalities: boolean;
  /** Keys of Redis stay with their server. */
  readonly hashesRedis: boolean;
  /** Endpoints that are not ready are sent whatever a rule states, and must never be called. */
  readonly neverPanics: boolean;
  /** Endpoints that are not ready are not sent, so that Envoy may call any of the others in a panic. */
  readonly keepsPanics: boolean;
  /** Queries after which the resolver takes a fresh socket; 0 for never. */
  readonly udpMaxQueries: number;
  readonly dnsJitterNanos: bigint;
  readonly preservesCase: boolean;
  /** Circuit breakers keep gauges of what is left. */
  readonly tracksRemaining: boolean;
  /** Labels that peers exchange beside the usual ones. */
  readonly exchangedLabels: readonly string[];
  readonly compliance: CompliancePolicy;
  /** Of TLS that rules ask for. */
  readonly tlsDefaults: TlsDefaults | undefined;
  /** At a socket beside the proxy. */
  readonly secretServer: SecretServer | undefined;
  /** Of certificates and roots that rules name as files. */
  readonly fileServer: FileServer;
}

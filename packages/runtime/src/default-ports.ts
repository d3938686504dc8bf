/**
 * The ports of all services on one host. They keep clear of each other and of what a proxy on the
 * same host binds: 15000 (admin), 15001 and 15006 (captured traffic), 15008 (tunnel), 15020, 15021
 * and 15090 (agent and statistics), 15053 (DNS).
 */
export const defaultPorts = {
  configController: { health: 15024, api: 15028 },
  serviceController: { health: 15025 },
  xdsServer: {
    /** xDS without TLS. */
    xds: 15010,
    /** xDS with TLS, and with mutual TLS where the client has a certificate. */
    xdsTls: 15012,
    /** Readiness and debug pages where istioctl and dashboards look for them. */
    http: 8080,
    /** Metrics, where scrapers of an istiod look for them; also readiness and debug pages. */
    health: 15014,
  },
  ca: { grpc: 15013, health: 15026 },
  webhook: { https: 15017, health: 15027 },
  console: { page: 15029, health: 15030 },
  nats: { client: 4222 },
  redis: { client: 6379 },
} as const;

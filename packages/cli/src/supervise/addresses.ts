/** What each service listens on, for people. */
import type { Ports } from "../layout.ts";

export function addressesOf(service: string, ports: Ports): string {
  switch (service) {
    case "ca":
      return `:${ports.ca} (gRPC) :${ports.caHealth} (HTTP)`;
    case "xds-server":
      return `:${ports.xds} (xDS) :${ports.xdsTls} (xDS, TLS) :${ports.xdsHealth} (HTTP)`;
    case "webhook":
      return `:${ports.webhook} (HTTPS) :${ports.webhookHealth} (HTTP)`;
    case "config-controller":
      return `:${ports.configHealth} (HTTP)${ports.api === 0 ? "" : ` :${ports.api} (API)`}`;
    default:
      return `:${ports.serviceHealth} (HTTP)`;
  }
}

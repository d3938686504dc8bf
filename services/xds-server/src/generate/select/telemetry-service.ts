/** Where a proxy sends spans and logs: a service of the mesh's extension providers. */
import { clusterName } from "@flotilla/model";
import type { View } from "../../snapshot/view.ts";

export interface TelemetryService {
  readonly hostname: string;
  readonly cluster: string;
}

/** `namespace/host` or `host`; undefined when no such service is known. */
export function telemetryService(view: View, service: string, port: number): TelemetryService | undefined {
  const slash = service.indexOf("/");
  const [namespace, hostname] = slash < 0 ? ["", service] : [service.slice(0, slash), service.slice(slash + 1)];
  const known = view.servicesByHost(hostname);
  const isKnown = namespace === "" ? known.length > 0 : known.some((name) => name.namespace === namespace);
  return isKnown ? { hostname, cluster: clusterName("outbound", port, "", hostname) } : undefined;
}

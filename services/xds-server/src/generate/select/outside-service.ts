/** Services of the mesh's extension providers: where a proxy sends spans and logs, and whom it asks about requests. */
import { clusterName } from "@flotilla/model";
import type { View } from "../../snapshot/view.ts";
import type { OutsideService } from "../envoy/filters/outside-service.ts";

/** `namespace/host`, or a `host` that one namespace alone has; undefined when no such service is known. */
export function outsideService(view: View, service: string, port: number): OutsideService | undefined {
  const slash = service.indexOf("/");
  const [namespace, hostname] = slash < 0 ? ["", service] : [service.slice(0, slash), service.slice(slash + 1)];
  const homes = new Set(view.servicesByHost(hostname).map((name) => name.namespace));
  const isKnown = namespace === "" ? homes.size === 1 : homes.has(namespace);
  return isKnown ? { hostname, cluster: clusterName("outbound", port, "", hostname) } : undefined;
}

/**
 * The cluster in which an Envoy finds its own workload: by its endpoints it divides requests among zones. They are those of the proxy's
 * oldest service, of the workload's own revision and in the proxy's region. Source: istiod asked, scenario locality/own-zones.
 */
import { ownClusterName } from "@flotilla/model";
import { visibleService } from "../../snapshot/scope/sidecar-scope.ts";
import { query, type View } from "../../snapshot/view.ts";
import { workloadRevision } from "../envoy/endpoints/endpoint-inputs.ts";
import type { ClusterTarget } from "./cluster-target.ts";

/** Undefined where no service stands for the proxy, or its Sidecar does not import it. */
export const ownTarget = query<ClusterTarget | undefined>("own-target", (view) => {
  const [oldest] = view.proxy.targets;
  const service = oldest && visibleService(view, oldest.hostname);
  const port = service?.ports.find(({ number }) => number === oldest?.port);
  if (service === undefined || port === undefined) return undefined;
  // Rules are about callers of the service.
  return { name: ownClusterName, service, port, subset: "", rule: undefined, passesTls: false, isOwnWorkload: true };
});

export function ownWorkload({ proxy }: View): string {
  return workloadRevision(proxy.metadataText("WORKLOAD_NAME"), proxy.locality.region, (name) => proxy.label(name));
}

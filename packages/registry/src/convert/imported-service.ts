/** A Service under the host it has in the whole cluster set. Source: scenario locality/mcs-hosts. */
import type { Config, Service } from "@flotilla/model";

/** The domain of hosts that mean a service of all clusters; source: Kubernetes' multi-cluster services API. */
export const clusterSetDomain = "clusterset.local";

/** Undefined for headless imports: without an address of the cluster set there is nothing to call. */
export function importedService(
  service: Service,
  serviceImport: Config,
  hostname: string,
  clusterId: string,
): Service | undefined {
  const { ips = [] } = serviceImport.spec as { readonly ips?: readonly string[] };
  const [first] = ips;
  if (first === undefined) return undefined;
  return { ...service, hostname, defaultAddress: first, clusterVips: { [clusterId]: ips } };
}

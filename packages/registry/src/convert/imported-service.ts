/** A Service under the host it has in the whole cluster set. Source: scenario locality/mcs-hosts. */
import { type Config, compareText, isIpAddress, type Service } from "@flotilla/model";

/** The domain of hosts that mean a service of all clusters; source: Kubernetes' multi-cluster services API. */
export const clusterSetDomain = "clusterset.local";

/** Undefined for headless imports: without an address of the cluster set there is nothing to call. */
export function importedService(
  service: Service,
  serviceImport: Config,
  hostname: string,
  clusterId: string,
): Service | undefined {
  const addresses = clusterSetAddresses(serviceImport);
  const [first] = addresses;
  if (first === undefined) return undefined;
  return { ...service, hostname, defaultAddress: first, clusterVips: { [clusterId]: addresses } };
}

/** In order of text, as istiod has them; what is no address is told of by the registry's problems. */
function clusterSetAddresses({ spec }: Config): readonly string[] {
  const { ips = [] } = spec as { readonly ips?: readonly string[] };
  return ips.filter((ip) => isIpAddress(ip)).toSorted(compareText);
}

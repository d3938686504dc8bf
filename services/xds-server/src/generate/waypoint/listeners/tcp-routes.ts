/**
 * Where connections to a service behind a waypoint go by the routes of its VirtualServices. Server names are not looked at: as with istiod, a route for
 * TLS counts where the service's own host is the one name that it matches.
 */
import { clusterName, type Service } from "@flotilla/model";
import type {
  L4MatchAttributes,
  RouteDestination,
  TLSMatchAttributes,
  VirtualService,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { visibleService } from "../../../snapshot/scope/sidecar-scope.ts";
import { virtualService } from "../../../snapshot/scope/virtual-service.ts";
import { meshGateway } from "../../../snapshot/scope/virtual-services.ts";
import { waypointService, waypointVirtualServices } from "../../../snapshot/scope/waypoint-services.ts";
import type { View } from "../../../snapshot/view.ts";
import type { WeightedCluster } from "../../envoy/filters/network-filters.ts";
import { type TcpPolicy, tcpPolicyOf } from "../../select/tcp-policy.ts";
import { vipClusterName } from "../../select/vip-cluster.ts";

export interface TcpRoute {
  readonly clusters: string | readonly WeightedCluster[];
  /** Of the first destination. */
  readonly policy: TcpPolicy;
}

/** Undefined where no route matches the port. */
export function tcpRoute(view: View, { hostname }: Service, port: number): TcpRoute | undefined {
  const specs = view
    .read(waypointVirtualServices, hostname)
    .flatMap(({ name }) => view.read(virtualService, name)?.spec ?? []);
  const isRoute = (destinations: Destinations) => destinations !== undefined;
  const found =
    specs.map((spec) => tlsDestinations(spec, hostname, port)).find(isRoute) ??
    specs.map((spec) => tcpDestinations(spec, port)).find(isRoute);
  const [first, ...others] = found ?? [];
  if (found === undefined || first === undefined) return undefined;
  const { host = "", subset = "" } = first.destination ?? {};
  const service = waypointService(view, host) ?? visibleService(view, host);
  // As of sidecars' listeners: of several destinations the first one's rule counts, without a subset.
  const policy = tcpPolicyOf(view, service, others.length === 0 ? subset : "");
  return { clusters: clustersOf(view, found, port), policy };
}

type Destinations = readonly RouteDestination[] | undefined;

function tlsDestinations({ tls }: VirtualService, hostname: string, port: number): Destinations {
  const isOwn = ({ sniHosts: [only, ...more] }: TLSMatchAttributes) => only === hostname && more.length === 0;
  return tls.find(({ match }) => match.length === 0 || match.some((one) => isOwn(one) && concerns(one, port)))?.route;
}

function tcpDestinations({ tcp }: VirtualService, port: number): Destinations {
  return tcp.find(({ match }) => match.length === 0 || match.some((one) => concerns(one, port)))?.route;
}

/** Labels and namespaces of callers are not known within a tunnel, and addresses are not looked at; as with istiod. */
function concerns(
  { port, gateways, sourceLabels, sourceNamespace }: L4MatchAttributes | TLSMatchAttributes,
  own: number,
) {
  if (gateways.length > 0 && !gateways.includes(meshGateway)) return false;
  if (Object.keys(sourceLabels).length > 0 || sourceNamespace !== "") return false;
  return port === 0 || port === own;
}

function clustersOf(view: View, destinations: readonly RouteDestination[], port: number) {
  const all = destinations.map((route) => ({ name: clusterOf(view, route, port), weight: route.weight }));
  const [only, ...others] = all;
  if (only !== undefined && others.length === 0) return only.name;
  return all.filter(({ weight }) => weight > 0);
}

function clusterOf(view: View, { destination }: RouteDestination, listenPort: number): string {
  const { host: hostname = "", subset = "" } = destination ?? {};
  const own = waypointService(view, hostname);
  const [only, ...more] = (own ?? visibleService(view, hostname))?.ports ?? [];
  const port = destination?.port?.number || (only !== undefined && more.length === 0 ? only.number : listenPort);
  if (own === undefined && visibleService(view, hostname) !== undefined)
    return clusterName("outbound", port, subset, hostname);
  return vipClusterName({ port, layer: "tcp", subset, hostname });
}

/** Where connections to a service behind a waypoint go by TCP routes of its VirtualServices. Server names are not looked at. */
import { clusterName, type Service } from "@flotilla/model";
import type { L4MatchAttributes, RouteDestination } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { visibleService } from "../../../snapshot/scope/sidecar-scope.ts";
import { virtualService } from "../../../snapshot/scope/virtual-service.ts";
import { meshGateway } from "../../../snapshot/scope/virtual-services.ts";
import { waypointService, waypointVirtualServices } from "../../../snapshot/scope/waypoint-services.ts";
import type { View } from "../../../snapshot/view.ts";
import type { WeightedCluster } from "../../envoy/filters/network-filters.ts";
import { vipClusterName } from "../../select/vip-cluster.ts";

/** Undefined where no route speaks of the port. */
export function tcpClusters(
  view: View,
  { hostname }: Service,
  port: number,
): string | readonly WeightedCluster[] | undefined {
  for (const { name } of view.read(waypointVirtualServices, hostname)) {
    const routes = view.read(virtualService, name)?.spec.tcp ?? [];
    const found = routes.find(({ match }) => match.length === 0 || match.some((one) => concerns(one, port)));
    if (found !== undefined) return clustersOf(view, found.route, port);
  }
  return undefined;
}

/** Callers and addresses that a match asks for are not known within a tunnel. */
function concerns(
  { port, gateways, sourceLabels, sourceNamespace, destinationSubnets }: L4MatchAttributes,
  own: number,
) {
  if (gateways.length > 0 && !gateways.includes(meshGateway)) return false;
  if (Object.keys(sourceLabels).length > 0 || sourceNamespace !== "" || destinationSubnets.length > 0) return false;
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

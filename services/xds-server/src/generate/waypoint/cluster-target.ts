/** Selects a waypoint's clusters towards the services behind it: one a port, layer and subset. */
import { isHttp, type Service } from "@flotilla/model";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import { waypointService, waypointServices } from "../../snapshot/scope/waypoint-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { type ClusterTarget, identicalTarget } from "../select/cluster-target.ts";
import { isResolvedByProxy } from "../select/discovery-type.ts";
import { hasEndpoint } from "../select/load-assignments.ts";
import { type Layer, layersOf, parseVipCluster, vipClusterName } from "../select/vip-cluster.ts";

export const vipClusterNames = query<readonly string[]>("vip-cluster-names", (view) =>
  view.read(waypointServices).flatMap((service) => namesOfService(view, service)),
);

function namesOfService(view: View, service: Service): readonly string[] {
  if (isEastWestGateway(view))
    return connectionPorts(service).map(({ number: port }) => {
      return vipClusterName({ port, layer: "tcp", subset: "", hostname: service.hostname });
    });
  const isDynamic = service.resolution === "dynamic-dns";
  // Names that are resolved as requests come have no endpoints that a subset could choose from.
  const named = isDynamic ? [] : (destinationRuleOf(view, service)?.spec.subsets ?? []);
  const subsets = ["", ...named.map(({ name }) => name)];
  const clusters = service.ports
    // The host below a wildcard is known by requests, or by the SNI that callers choose.
    .filter(({ protocol }) => !isDynamic || isHttp(protocol) || (protocol === "TLS" && view.feature("wildcardTls")))
    .flatMap(({ number: port, protocol }) => layersOf(protocol).map((layer) => ({ port, layer })))
    .flatMap((one) => subsets.map((subset) => vipClusterName({ ...one, subset, hostname: service.hostname })));
  return clusters.filter((name) => {
    const target = vipTarget(view, name);
    return target !== undefined && (!isResolvedByProxy(view, target) || hasEndpoint(view, target));
  });
}

/** Undefined when the name is no cluster towards a service behind the waypoint. */
export function vipTarget(view: View, name: string): ClusterTarget | undefined {
  const parts = parseVipCluster(name);
  const service = parts && waypointService(view, parts.hostname);
  if (parts === undefined || service === undefined) return undefined;
  const { layer, subset } = parts;
  if (isEastWestGateway(view)) {
    const port = connectionPorts(service).find(({ number }) => number === parts.port);
    if (port === undefined || layer !== "tcp" || subset !== "") return undefined;
    // The inner tunnel is for its other end, and so are the rules of the service.
    const name = vipClusterName(parts);
    return identicalTarget({ name, service, port, subset, rule: undefined, passesTls: false, layer });
  }
  const port = service.ports.find((one) => one.number === parts.port && carries(layersOf(one.protocol), layer));
  if (port === undefined) return undefined;
  const rule = destinationRuleOf(view, service);
  return identicalTarget({ name: vipClusterName(parts), service, port, subset, rule, passesTls: false, layer });
}

/** An east-west gateway passes tunnels on, whatever they carry. */
export function connectionPorts({ ports }: Pick<Service, "ports">): Service["ports"] {
  return ports.filter(({ protocol }) => protocol !== "UDP");
}

function carries(layers: readonly Layer[], layer: Layer): boolean {
  return layers.includes(layer);
}

/** Chains of an east-west gateway within the tunnels that it ends: they pass the tunnels of callers on to services or their waypoints. */
import { type ClusterName, hbonePort, type Service } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type FilterChain, FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { serviceText } from "../../../snapshot/row-index.ts";
import { waypointBefore } from "../../../snapshot/scope/east-west.ts";
import { waypointServices } from "../../../snapshot/scope/waypoint-services.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { tcpProxy } from "../../envoy/filters/network-filters.ts";
import { vipClusterName } from "../../select/vip-cluster.ts";
import { connectionPorts } from "../cluster-target.ts";
import { passingFilters } from "./chains.ts";
import type { PassedOn } from "./vip-matcher.ts";

/** Policies are those of the gateway: requests are within the inner tunnels. */
export const passingChains = query<readonly FilterChain[]>("east-west-filter-chains", (view) => {
  const chains = view.read(waypointServices).flatMap((service) =>
    connectionPorts(service).map(({ number }) => {
      const name = passedName(service.hostname, number);
      return create(FilterChainSchema, { name, filters: [...passingFilters(view, number, name)] });
    }),
  );
  return chains.length > 0 ? chains : [nowhere];
});

/** Envoy requires a chain; this one is never matched. */
const nowhere = create(FilterChainSchema, {
  name: "virtualInbound-blackhole",
  filters: [tcpProxy({ statPrefix: "BlackHoleCluster", clusters: "BlackHoleCluster" })],
});

/** Callers without a waypoint of their own, such as ztunnels, go through that of the service. */
export function passedOn(view: View, service: Service): PassedOn {
  const waypoint = view.read(waypointBefore, serviceText.write(service));
  if (waypoint === undefined) return {};
  const { hostname, takesGateways } = waypoint;
  return { waypoint: { chain: passedName(hostname, hbonePort), takesGateways } };
}

function passedName(hostname: string, port: number): ClusterName {
  return vipClusterName({ port, layer: "tcp", subset: "", hostname });
}

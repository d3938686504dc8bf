/**
 * The waypoints through which gateways call a service that asks for it: `istio.io/ingress-use-waypoint` on it or its namespace.
 * Only of routers: calls of sidecars have gone through policies of their own, and ztunnels find the waypoint themselves.
 */
import { ingressUsesWaypoint, type Waypoint } from "@flotilla/ambient";
import type { Endpoint, Service } from "@flotilla/model";
import { sameJson } from "../../snapshot/ambient/namespaces.ts";
import { serviceOfWaypoint } from "../../snapshot/ambient/service-addresses.ts";
import { homeLabels } from "../../snapshot/ambient/services.ts";
import { serviceBinding } from "../../snapshot/ambient/waypoints.ts";
import { type EndpointShards, type ServiceText, serviceText } from "../../snapshot/row-index.ts";
import { type EndpointScope, endpointScope, endpointsIn } from "../../snapshot/scope/discoverable-endpoints.ts";
import { sendsHbone } from "../../snapshot/scope/hbone.ts";
import { serviceIn } from "../../snapshot/scope/services.ts";
import { vipsOf } from "../../snapshot/scope/waypoint-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { addressText, type WaypointDestinations } from "../envoy/endpoints/reached-endpoint.ts";
import { type ClusterTarget, isByDns } from "./cluster-target.ts";
import { isUnspecified } from "./service-address.ts";

export interface IngressWaypoint {
  /** The service behind it. */
  readonly service: ServiceText;
  /** See `WaypointDestinations`. */
  readonly destinations: string;
}

export function ingressWaypoint(view: View, { service, port }: ClusterTarget): IngressWaypoint | undefined {
  if (view.proxy.type !== "router" || !view.feature("ingressWaypoints") || !sendsHbone(view)) return undefined;
  if (ingressUsesWaypoint(service.labels, homeLabels(view, service)) !== true) return undefined;
  // As in istiod: a cluster of names takes no endpoints of another service.
  if (isByDns(service)) return undefined;
  const text = serviceText.write(service);
  const { waypoint } = view.read(serviceBinding, text);
  const [vip] = vipsOf(view, service);
  if (waypoint === undefined || vip === undefined || serviceOfWaypoint(view, waypoint) === undefined) return undefined;
  return { service: text, destinations: destinationsOf(service, vip, port.number) };
}

function destinationsOf({ clusterVips }: Service, vip: string, port: number): string {
  const ofClusters = Object.entries(clusterVips).flatMap(([cluster, [first]]) => {
    return first === undefined || isUnspecified(first) ? [] : [[cluster, addressText(first, port)] as const];
  });
  const destinations: WaypointDestinations = {
    any: addressText(vip, port),
    ofClusters: Object.fromEntries(ofClusters),
  };
  return JSON.stringify(destinations);
}

/** Endpoints of the waypoint, and of a second one as far as it has a share of the load; none, rather than the service's own, where they have none. */
export function waypointEndpoints(view: View, { service }: IngressWaypoint): EndpointShards {
  return view.read(endpointsOfWaypoints, service);
}

const endpointsOfWaypoints = query<EndpointShards, ServiceText>(
  "endpoints-of-ingress-waypoints",
  (view, text) => {
    const { waypoint, canary } = view.read(serviceBinding, text);
    if (waypoint === undefined) return new Map();
    const { namespace, hostname } = serviceText.read(text);
    const service = serviceIn(view, namespace, hostname);
    // As in istiod, the service decides whether waypoints of other clusters are called.
    const scope = service !== undefined && endpointScope(view, service) === "cluster" ? "cluster" : "discoverable";
    const first = portEndpoints(view, waypoint, scope);
    if (canary === undefined) return first;
    const second = portEndpoints(view, canary.waypoint, scope);
    return new Map([
      ["primary", weighted(first, 100 - canary.weight)],
      ["canary", weighted(second, canary.weight)],
    ]);
  },
  (a, b) => a !== undefined && sameJson([...a], [...b]),
);

/** Of the port that takes tunnels. */
function portEndpoints(view: View, waypoint: Waypoint, scope: EndpointScope): EndpointShards {
  const name = serviceOfWaypoint(view, waypoint);
  const service = name && serviceIn(view, name.namespace, name.hostname);
  const port = service?.ports.find(({ number }) => number === waypoint.port);
  if (service === undefined || port === undefined) return new Map();
  const shards = endpointsIn(view, service, scope);
  return new Map(
    [...shards].map(([shard, all]) => [shard, all.filter(({ servicePortName }) => servicePortName === port.name)]),
  );
}

/** Keeps the shares precise when they are divided among endpoints. */
const scale = 10_000;

function weighted(shards: EndpointShards, percent: number): readonly Endpoint[] {
  if (percent === 0) return [];
  const all = [...shards.values()].flat();
  const weight = Math.max(Math.floor((percent * scale) / all.length), 1);
  return all.map((endpoint) => ({ ...endpoint, weight }));
}

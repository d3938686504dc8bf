/** The waypoint through which gateways call a service that asks for it: `istio.io/ingress-use-waypoint` on it or its namespace. */
import { ingressUsesWaypoint } from "@flotilla/ambient";
import type { Service } from "@flotilla/model";
import { namespaceTraits } from "../../snapshot/ambient/namespaces.ts";
import { serviceBinding } from "../../snapshot/ambient/waypoints.ts";
import { serviceText } from "../../snapshot/row-index.ts";
import { sendsHbone } from "../../snapshot/scope/hbone.ts";
import { serviceIn } from "../../snapshot/scope/services.ts";
import { vipsOf } from "../../snapshot/scope/waypoint-services.ts";
import type { View } from "../../snapshot/view.ts";
import { addressText } from "../envoy/endpoints/tunnels.ts";
import type { ClusterTarget } from "./cluster-target.ts";

interface IngressWaypoint {
  /** Its own, whose endpoints are called. */
  readonly service: Service;
  readonly portName: string;
  /** What the tunnels are for. */
  readonly destination: string;
}

/** Only of routers: calls of sidecars have gone through policies of their own, and ztunnels find the waypoint themselves. */
export function ingressWaypoint(view: View, { service, port }: ClusterTarget): IngressWaypoint | undefined {
  if (view.proxy.type !== "router" || !view.feature("ingressWaypoints") || !sendsHbone(view)) return undefined;
  const { labels: home } = view.read(namespaceTraits, service.namespace);
  if (ingressUsesWaypoint(service.labels, home) !== true) return undefined;
  const { waypoint } = view.read(serviceBinding, serviceText.write(service));
  if (waypoint === undefined || !("hostname" in waypoint.destination)) return undefined;
  const own = serviceIn(view, waypoint.destination.namespace, waypoint.destination.hostname);
  const listening = own?.ports.find(({ number }) => number === waypoint.port);
  const [vip] = vipsOf(view, service);
  if (own === undefined || listening === undefined || vip === undefined) return undefined;
  return { service: own, portName: listening.name, destination: addressText(vip, port.number) };
}

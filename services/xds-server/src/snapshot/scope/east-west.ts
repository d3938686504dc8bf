/**
 * East-west gateways of ambient meshes: they end the outer of two tunnels from another network, and pass the inner one on to the global
 * services of their own network. Source: scenario ambient/east-west.
 */
import { compareText, type Service } from "@flotilla/model";
import { isGlobal } from "../ambient/service-clusters.ts";
import { ambientService } from "../ambient/services.ts";
import { type ServiceName, type ServiceText, serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { serviceIn } from "./services.ts";

const controllerLabel = "gateway.istio.io/managed";
const eastWestController = "istio.io-eastwest-controller";

/** By the label that the gateway's controller sets on its pods. */
export function isEastWestGateway(view: View): boolean {
  if (view.proxy.type !== "waypoint" || view.proxy.label(controllerLabel) !== eastWestController) return false;
  return view.feature("ambient") && view.feature("ambientMultiNetwork");
}

export interface WaypointBefore extends ServiceName {
  /** Requests of gateways go through it too. */
  readonly takesGateways: boolean;
}

/** The waypoint that a service has by its host name: one that is known by an address only is not used, as by istiod. */
export const waypointBefore = query<WaypointBefore | undefined, ServiceText>(
  "waypoint-before-service",
  (view, text) => {
    const facts = view.read(ambientService, text);
    const destination = facts?.waypoint?.destination;
    if (facts === undefined || destination === undefined || !("hostname" in destination)) return undefined;
    const { namespace, hostname } = destination;
    return { namespace, hostname, takesGateways: facts.ingressUsesWaypoint };
  },
);

/** Global services, and the waypoints before them, oldest first. */
export const eastWestServices = query<readonly Service[]>("east-west-services", (view) => {
  const found = new Map<ServiceText, Service>();
  const add = (name: ServiceName): void => {
    const text = serviceText.write(name);
    const service = view.read(ambientService, text) && serviceIn(view, name.namespace, name.hostname);
    if (service !== undefined) found.set(text, service);
  };
  for (const name of view.serviceNames.filter((one) => isGlobal(view, one))) {
    add(name);
    const waypoint = view.read(waypointBefore, serviceText.write(name));
    if (waypoint !== undefined) add(waypoint);
  }
  return [...found.values()].sort(
    (a, b) =>
      a.creationTimeMs - b.creationTimeMs || compareText(a.name, b.name) || compareText(a.namespace, b.namespace),
  );
});

/** Gateways as waypoints, and which services and workloads are bound to each. */
import {
  type Binding,
  bindingLabels,
  bindService,
  bindWorkload,
  type GatewayClassTraits,
  gatewayNameLabel,
  type Waypoint,
  waypointOf,
} from "@flotilla/ambient";
import type { GatewayClassSpec, KubernetesGatewaySpec } from "@flotilla/gateway-api";
import { type Labels, ownValue, type Service, type TextOf, textCodec, type Workload } from "@flotilla/model";
import { type ServiceName, type ServiceText, type SliceText, serviceText, sliceKeys } from "../row-index.ts";
import { serviceIn } from "../scope/services.ts";
import { query, type View } from "../view.ts";
import { meshNetwork, namespaceTraits, sameJson } from "./namespaces.ts";
import { visibilityOf } from "./visibility.ts";

/** `namespace/name` of a Gateway. */
export const waypointText = textCodec("WaypointName", "/", ["namespace", "name"]);
export type WaypointText = TextOf<typeof waypointText>;

const classTraits = query<GatewayClassTraits | undefined, string>(
  "gateway-class-traits",
  (view, name) => {
    const found = view.config<GatewayClassSpec>("GatewayClass", "", name);
    if (found !== undefined)
      return {
        ...{ labels: found.labels, annotations: found.annotations },
        controllerName: found.spec.controllerName ?? "",
      };
    return name === "istio-waypoint"
      ? { labels: {}, annotations: {}, controllerName: "istio.io/mesh-controller" }
      : undefined;
  },
  sameJson,
);

/** Undefined where there is no such Gateway, or none that can be reached yet. */
export const waypoint = query<Waypoint | undefined, WaypointText>(
  "waypoint",
  (view, text) => {
    const { namespace, name } = waypointText.read(text);
    const gateway = view.config<KubernetesGatewaySpec>("KubernetesGateway", namespace, name);
    if (gateway === undefined) return undefined;
    const traits = view.read(classTraits, gateway.spec.gatewayClassName ?? "");
    return waypointOf(gateway, traits, view.read(meshNetwork));
  },
  sameJson,
);

function lookups(view: View, namespace: string) {
  return {
    waypoint: (name: { readonly namespace: string; readonly name: string }) =>
      view.read(waypoint, waypointText.write(name)),
    home: view.read(namespaceTraits, namespace),
  };
}

/** The waypoint of a service, for callers that go through one. */
export const serviceBinding = query<Binding, ServiceText>(
  "service-binding",
  (view, text) => {
    const { namespace, hostname } = serviceText.read(text);
    const service = serviceIn(view, namespace, hostname);
    if (service === undefined || service.resolution === "alias") return {};
    const object = { labels: service.labels, annotations: annotationsOf(view, service) };
    return bindService(object, namespace, lookups(view, namespace), visibilityOf(view, service) === "namespace");
  },
  sameJson,
);

function annotationsOf(view: View, { registry, namespace, name, kubernetes }: Service): Labels {
  if (registry !== "External") return kubernetes?.annotations ?? {};
  return view.config("ServiceEntry", namespace, name)?.annotations ?? {};
}

/** The waypoint of a workload itself, by uid; pods of a waypoint have none, and neither have addresses of which no pod is known, as in istiod. */
export const workloadBinding = query<Binding, string>(
  "workload-binding",
  (view, uid) => {
    const workload = view.workload(uid);
    if (workload === undefined || ownWaypoint(view, uid) !== undefined) return {};
    const { namespace, kind } = workload;
    if (kind === "EndpointSlice" || isHostItself(workload)) return {};
    return bindWorkload({ labels: bindingLabels(workload) }, namespace, lookups(view, namespace));
  },
  sameJson,
);

/** Of a ServiceEntry without endpoints: as with istiod, calls go to the waypoint of the service alone. */
function isHostItself({ kind, hostname, memberOf = [] }: Workload): boolean {
  const [only, ...others] = memberOf;
  return kind === "ServiceEntry" && hostname !== undefined && others.length === 0 && only?.hostname === hostname;
}

/** The waypoint that a workload is a pod of. */
export function ownWaypoint(view: View, uid: string): Waypoint | undefined {
  const workload = view.workload(uid);
  const name = ownValue(workload?.labels, gatewayNameLabel);
  if (workload === undefined || name === undefined) return undefined;
  return view.read(waypoint, waypointText.write({ namespace: workload.namespace, name }));
}

/** By `namespace/name` of the waypoint. */
type Users<One> = ReadonlyMap<string, readonly One[]>;

function usersOf<One>(all: Iterable<readonly [Binding, One]>): Users<One> {
  const found = new Map<string, One[]>();
  for (const [{ waypoint: first, canary }, one] of all) {
    for (const used of [first, canary?.waypoint]) {
      if (used === undefined) continue;
      const name = waypointText.write(used);
      const others = found.get(name);
      if (others === undefined) found.set(name, [one]);
      else others.push(one);
    }
  }
  return found;
}

const sameUsers = (a: Users<unknown> | undefined, b: Users<unknown>) => a !== undefined && sameJson([...a], [...b]);

const serviceUsers = query<Users<ServiceName>>(
  "services-by-waypoint",
  (view) =>
    usersOf(view.serviceNames.map((name) => [view.read(serviceBinding, serviceText.write(name)), name] as const)),
  sameUsers,
);

/** Apart for each slice: pods come and go without a look at all others. */
const workloadUsersOf = query<Users<string>, SliceText>(
  "workloads-by-waypoint",
  (view, slice) => usersOf(sliceKeys(slice).map((uid) => [view.read(workloadBinding, uid), uid] as const)),
  sameUsers,
);

/** The services that are bound to a waypoint, by host name and namespace. */
export const servicesOfWaypoint = query<readonly ServiceName[], WaypointText>(
  "services-of-waypoint",
  (view, name) => view.read(serviceUsers).get(name) ?? [],
  sameJson,
);

/** The uids of the workloads that are bound to a waypoint. */
export const workloadsOfWaypoint = query<readonly string[], WaypointText>("workloads-of-waypoint", (view, name) =>
  view.workloadNamespaces.flatMap((namespace) =>
    view.workloadSlices(namespace).flatMap((slice) => view.read(workloadUsersOf, slice).get(name) ?? []),
  ),
);

/** Gateways as waypoints, and which services and workloads are bound to each. */
import {
  type Binding,
  type BindingLookups,
  bindingLabels,
  bindService,
  bindWorkload,
  type GatewayClassTraits,
  gatewayNameLabel,
  type Waypoint,
  type WaypointName,
  waypointOf,
} from "@flotilla/ambient";
import type { GatewayClassSpec, KubernetesGatewaySpec } from "@flotilla/gateway-api";
import {
  type Labels,
  ownValue,
  type RemoteWaypoint,
  remoteGatewayHost,
  type Service,
  type TextOf,
  textCodec,
  type Workload,
} from "@flotilla/model";
import type { ServiceEntry } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import {
  clusterOfShard,
  type ServiceName,
  type ServiceText,
  type SliceText,
  serviceText,
  sliceKeys,
} from "../row-index.ts";
import { serviceIn } from "../scope/services.ts";
import { query, type View } from "../view.ts";
import { meshNetwork, namespaceTraits, sameJson } from "./namespaces.ts";
import { foreignPart, isElsewhereOnly } from "./service-clusters.ts";
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

function lookups(view: View, namespace: string): BindingLookups {
  return {
    waypoint: (name) => view.read(waypoint, waypointText.write(name)),
    home: view.read(namespaceTraits, namespace),
  };
}

/** In another cluster its own Gateways and namespaces count, as with istiod; the classes are those of the own one. */
function foreignLookups(view: View, cluster: string, labels: Labels, annotations: Labels = {}): BindingLookups {
  return {
    waypoint: ({ namespace, name }) => {
      const shards = view.serviceShards({ namespace, hostname: remoteGatewayHost({ namespace, name }, "waypoint") });
      const [, service] = [...shards].find(([key]) => clusterOfShard(key) === cluster) ?? [];
      return service?.waypoint && foreignWaypoint(view, { namespace, name }, service.waypoint);
    },
    home: { labels, annotations },
  };
}

function foreignWaypoint(
  view: View,
  name: WaypointName,
  { network, gatewayClass, labels, annotations, listeners, addresses }: RemoteWaypoint,
): Waypoint | undefined {
  const key = { kind: "KubernetesGateway", ...name } as const;
  const spec = { gatewayClassName: gatewayClass, listeners: listeners.map((one) => ({ name: "", ...one })) };
  const gateway = { ...{ key, labels, annotations, spec }, creationTimeMs: 0, status: { addresses } };
  return waypointOf(gateway, view.read(classTraits, gatewayClass), network);
}

/** The waypoint of a service, for callers that go through one. */
export const serviceBinding = query<Binding, ServiceText>(
  "service-binding",
  (view, text) => {
    const { namespace, hostname } = serviceText.read(text);
    const service = serviceIn(view, namespace, hostname);
    if (service === undefined || service.resolution === "alias" || isGateway(service)) return {};
    if (isElsewhereOnly(view, service)) return foreignBinding(view, service);
    const object = { labels: service.labels, annotations: annotationsOf(view, service) };
    return bindService(object, namespace, lookups(view, namespace), visibilityOf(view, service) === "namespace");
  },
  sameJson,
);

/** A gateway or a waypoint of another cluster; it is not called by name. */
export function isGateway({ definedBy }: Service): boolean {
  return definedBy.startsWith("Gateway/");
}

function foreignBinding(view: View, service: Service): Binding {
  const foreign = foreignPart(view, service);
  if (foreign === undefined) return {};
  const { cluster, part } = foreign;
  const object = { labels: part.labels, annotations: annotationsOf(view, part) };
  const { namespaceLabels = {}, namespaceAnnotations = {} } = part.remote ?? {};
  return bindService(object, part.namespace, foreignLookups(view, cluster, namespaceLabels, namespaceAnnotations));
}

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
    if (kind === "EndpointSlice" || isHostItself(view, workload)) return {};
    return bindWorkload({ labels: bindingLabels(workload) }, namespace, lookupsOf(view, workload));
  },
  sameJson,
);

function lookupsOf(view: View, { isRemote, clusterId, namespace, namespaceLabels = {} }: Workload): BindingLookups {
  return isRemote === true ? foreignLookups(view, clusterId, namespaceLabels) : lookups(view, namespace);
}

/** Of a ServiceEntry without endpoints: as with istiod, calls go to the waypoint of the service alone. */
function isHostItself(view: View, { kind, namespace, name, hostname }: Workload): boolean {
  if (kind !== "ServiceEntry" || hostname === undefined) return false;
  return view.config<ServiceEntry>("ServiceEntry", namespace, name)?.spec.endpoints.length === 0;
}

/** The waypoint that a workload is a pod of. */
export function ownWaypoint(view: View, uid: string): Waypoint | undefined {
  const workload = view.workload(uid);
  const name = workload && ownValue(bindingLabels(workload), gatewayNameLabel);
  if (workload === undefined || name === undefined) return undefined;
  return lookupsOf(view, workload).waypoint({ namespace: workload.namespace, name });
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

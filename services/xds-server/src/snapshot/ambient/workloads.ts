/** Workloads as ztunnels are sent them. */
import {
  type FarWorkloads,
  farWorkloads,
  gatewayFacts,
  partFacts,
  type ServiceFacts,
  type WorkloadFacts,
  workloadFacts,
} from "@flotilla/ambient";
import { matchesLabels, type Service, type Workload, type WorkloadMembership } from "@flotilla/model";
import { type SliceText, serviceText, sliceKeys } from "../row-index.ts";
import { serviceIn } from "../scope/services.ts";
import { query, type View } from "../view.ts";
import { meshNetwork, sameJson, trustDomainForZtunnel } from "./namespaces.ts";
import { gatewayOfNetwork } from "./network-gateways.ts";
import { policiesOfWorkload, policyText } from "./policies.ts";
import { isServedIn, remotePart } from "./service-clusters.ts";
import { ambientService } from "./services.ts";
import { allowingWaypoints } from "./waypoint-policies.ts";
import { ownWaypoint, workloadBinding } from "./waypoints.ts";

/** By uid, of all networks. */
const workloadOfMesh = query<WorkloadFacts | undefined, string>(
  "workload-of-mesh",
  (view, uid) => {
    const workload = view.workload(uid);
    if (workload === undefined) return undefined;
    const memberOf = served(view, workload);
    if (memberOf.length === 0 && isPartOfService(workload)) return undefined;
    const { waypoint } = view.read(workloadBinding, uid);
    const gateway = view.read(gatewayOfNetwork, workload.network);
    const inbound = ownWaypoint(view, uid)?.inbound;
    const services = workload.kind === "Pod" || workload.kind === "WorkloadEntry" ? selecting(view, workload) : [];
    const allowing = allowingWaypoints(view, uid, [...services, ...memberOf]);
    return workloadFacts(
      { ...workload, memberOf },
      {
        uid,
        services,
        policies: [...policiesOfWorkload(view, workload), ...allowing.map((name) => policyText.write(name))],
        trustDomain: trustDomainForZtunnel(view),
        ...(waypoint === undefined ? {} : { waypoint: gatewayFacts(waypoint) }),
        ...(gateway === undefined ? {} : { networkGateway: { destination: gateway.destination, port: gateway.port } }),
        ...(inbound === undefined ? {} : { applicationTunnel: inbound }),
      },
    );
  },
  sameJson,
);

/**
 * Workloads by uid. Without gateways between networks only those of the own cluster are sent, as by istiod. With gateways, one workload stands
 * for all workloads of a service in another network.
 */
export const ambientWorkload = query<WorkloadFacts | undefined, string>("ambient-workload", (view, uid) => {
  const workload = view.workload(uid);
  return workload !== undefined && isCalledItself(view, workload) ? view.read(workloadOfMesh, uid) : undefined;
});

/** True where ztunnels and waypoints of the own cluster and network know the workload by its address. */
export function isCalledItself(view: View, { isRemote, network }: Workload): boolean {
  return view.feature("ambientMultiNetwork") ? network === view.read(meshNetwork) : isRemote !== true;
}

const farWorkloadsOf = query<readonly WorkloadFacts[], SliceText>(
  "far-workloads",
  (view, slice) => {
    const own = view.read(meshNetwork);
    return sliceKeys(slice).flatMap((uid) => {
      // The network stands in the input: those of the own one are not looked at further.
      if (view.workload(uid)?.network === own) return [];
      return view.read(workloadOfMesh, uid) ?? [];
    });
  },
  sameJson,
);

/** The workloads of a namespace's services in other networks, by `namespace/hostname`; none without gateways between networks. */
export const farWorkloadsIn = query<ReadonlyMap<string, readonly FarWorkloads[]>, string>(
  "far-workloads-of-services",
  (view, namespace) => {
    if (!view.feature("ambientMultiNetwork")) return none;
    const found = view.workloadSlices(namespace).flatMap((slice) => view.read(farWorkloadsOf, slice));
    return found.length === 0 ? none : farWorkloads(found, view.mesh.trustDomain);
  },
  (a, b) => a !== undefined && sameJson([...a], [...b]),
);

const none: ReadonlyMap<string, readonly FarWorkloads[]> = new Map();

/** Registries whose services declare their workloads, so that a workload without any of its services is none. */
const registries: Readonly<Partial<Record<Workload["kind"], Service["registry"]>>> = {
  ServiceEntry: "External",
  ConsulInstance: "Consul",
  FileEndpoint: "File",
};

function isPartOfService({ kind }: Workload): boolean {
  return registries[kind] !== undefined;
}

/** Of the services that declare the workload those that no other service of that name stands before. */
function served(view: View, { kind, name, clusterId, memberOf = [] }: Workload): readonly WorkloadMembership[] {
  const registry = registries[kind];
  if (registry === undefined) return memberOf.filter((member) => isServedIn(view, member, clusterId));
  if (kind !== "ServiceEntry") return memberOf.filter((member) => registryOf(view, member) === registry);
  return memberOf.filter((member) => {
    const service = view.read(ambientService, serviceText.write(member));
    return service?.kind === "ServiceEntry" && service.name === name;
  });
}

function registryOf(view: View, { namespace, hostname }: WorkloadMembership): Service["registry"] | undefined {
  return serviceIn(view, namespace, hostname)?.registry;
}

/** Each service stands in the row of one of its labels. */
function selecting(view: View, { kind, namespace, labels, clusterId, isRemote }: Workload): readonly ServiceFacts[] {
  const takesServices = kind === "Pod" || view.feature("servicesSelectWorkloadEntries");
  const takesEntries = kind !== "Pod" || view.feature("serviceEntriesSelectPods");
  const names = Object.entries(labels).flatMap(([label, value]) => view.selectorRow(namespace, label, value));
  return names.flatMap((name) => {
    const found = view.read(ambientService, serviceText.write(name));
    const service = isRemote === true ? found && inCluster(view, found, clusterId) : found;
    if (service?.selector === undefined || !matchesLabels(service.selector, labels)) return [];
    if (!(service.kind === "ServiceEntry" ? takesEntries : takesServices)) return [];
    // As in istiod, a ServiceEntry has no pods of other clusters.
    const isServed = service.kind === "ServiceEntry" ? isRemote !== true : isServedIn(view, name, clusterId);
    return isServed ? [service] : [];
  });
}

/** With the selector and the ports that the service has in another cluster. */
function inCluster(view: View, facts: ServiceFacts, clusterId: string): ServiceFacts {
  const part = facts.kind === "Service" ? remotePart(view, facts, clusterId) : undefined;
  return part === undefined ? facts : { ...facts, ...partFacts(part) };
}

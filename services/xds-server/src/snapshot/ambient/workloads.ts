/** Workloads as ztunnels are sent them. */
import { gatewayFacts, type ServiceFacts, type WorkloadFacts, workloadFacts } from "@flotilla/ambient";
import { matchesLabels, type Workload } from "@flotilla/model";
import { serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { sameJson, trustDomainForZtunnel } from "./namespaces.ts";
import { gatewayOfNetwork } from "./network-gateways.ts";
import { policiesOfWorkload } from "./policies.ts";
import { ambientService } from "./services.ts";
import { ownWaypoint, workloadBinding } from "./waypoints.ts";

/** By uid. */
export const ambientWorkload = query<WorkloadFacts | undefined, string>(
  "ambient-workload",
  (view, uid) => {
    const workload = view.workload(uid);
    if (workload === undefined) return undefined;
    const { waypoint } = view.read(workloadBinding, uid);
    const gateway = view.read(gatewayOfNetwork, workload.network);
    const inbound = ownWaypoint(view, uid)?.inbound;
    return workloadFacts(workload, {
      uid,
      services: workload.kind === "Pod" || workload.kind === "WorkloadEntry" ? selecting(view, workload) : [],
      policies: policiesOfWorkload(view, workload),
      trustDomain: trustDomainForZtunnel(view),
      ...(waypoint === undefined ? {} : { waypoint: gatewayFacts(waypoint) }),
      ...(gateway === undefined ? {} : { networkGateway: { destination: gateway.destination, port: gateway.port } }),
      ...(inbound === undefined ? {} : { applicationTunnel: inbound }),
    });
  },
  sameJson,
);

/** Each service stands in the row of one of its labels. */
function selecting(view: View, { namespace, labels }: Workload): readonly ServiceFacts[] {
  const names = Object.entries(labels).flatMap(([label, value]) => view.selectorRow(namespace, label, value));
  return names.flatMap((name) => {
    const service = view.read(ambientService, serviceText.write(name));
    return service?.selector !== undefined && matchesLabels(service.selector, labels) ? [service] : [];
  });
}

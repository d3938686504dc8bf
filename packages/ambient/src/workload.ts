/** A workload as a ztunnel is sent it: its own facts with the services that select it, its waypoint and its policies. */
import {
  canonicalName,
  canonicalRevision,
  ownValue,
  parseLocality,
  type Workload,
  type WorkloadMembership,
} from "@flotilla/model";
import type { GatewayFacts, ServiceFacts, ServicePortFacts, WorkloadFacts } from "./facts.ts";
import type { InboundBinding } from "./waypoint.ts";

/** Data that is derived from other objects. */
export interface WorkloadContext {
  readonly uid: string;
  /** Services that select the workload. */
  readonly services: readonly ServiceFacts[];
  readonly policies: readonly string[];
  /** Empty for `cluster.local`. */
  readonly trustDomain: string;
  readonly waypoint?: GatewayFacts;
  readonly networkGateway?: GatewayFacts;
  readonly applicationTunnel?: InboundBinding;
}

export function workloadFacts(workload: Workload, context: WorkloadContext): WorkloadFacts {
  const { kind, labels, locality, capacity } = workload;
  const { services, ...others } = context;
  const isKnown = kind !== "EndpointSlice";
  return {
    ...others,
    name: workload.name,
    namespace: workload.namespace,
    addresses: workload.addresses,
    hostname: workload.hostname ?? "",
    network: workload.network,
    tunnel: workload.tunnel,
    serviceAccount: workload.serviceAccount,
    canonicalName: isKnown ? canonicalName(labels, workload.workloadName) : "",
    canonicalRevision: isKnown ? canonicalRevision(labels) : "",
    workloadName: workload.workloadName,
    isPod: isKnown,
    node: workload.nodeName ?? "",
    clusterId: workload.clusterId,
    ...(locality === "" ? {} : { locality: parseLocality(locality) }),
    ...(capacity === undefined ? {} : { capacity }),
    isHealthy: workload.isReady,
    hostNetwork: workload.hostNetwork === true,
    services: memberships(workload, services),
  };
}

/** By `namespace/hostname`; the ports of a service that names the workload itself take precedence over those of a selector. */
function memberships(workload: Workload, services: readonly ServiceFacts[]): readonly WorkloadMembership[] {
  const found = new Map<string, WorkloadMembership>();
  for (const service of services) {
    const { namespace, hostname } = service;
    found.set(`${namespace}/${hostname}`, { namespace, hostname, ports: workloadPorts(workload, service) });
  }
  for (const member of workload.memberOf ?? []) found.set(`${member.namespace}/${member.hostname}`, member);
  return [...found.values()];
}

/** Ports that the workload does not have are left out. */
function workloadPorts(
  workload: Pick<Workload, "kind" | "ports">,
  { kind, ports }: Pick<ServiceFacts, "kind" | "ports">,
): WorkloadMembership["ports"] {
  return ports.flatMap((port) => {
    const targetPort = workload.kind === "Pod" ? podPort(workload.ports, kind, port) : entryPort(workload.ports, port);
    return targetPort === undefined ? [] : [{ servicePort: port.number, targetPort }];
  });
}

/** Ports of a pod go by the name of the target; a ServiceEntry's, which cannot name one, by that of its own port. */
function podPort(
  own: Workload["ports"],
  kind: ServiceFacts["kind"],
  { number, name, target, targetName }: ServicePortFacts,
): number | undefined {
  if (targetName !== undefined) return ownValue(own, targetName);
  if (kind === "ServiceEntry") return target ?? ownValue(own, name) ?? number;
  return target ?? number;
}

/** A machine names the ports of services, and the targets that a service names; one that it lacks is no port of it. */
function entryPort(own: Workload["ports"], { number, name, target, targetName }: ServicePortFacts): number | undefined {
  return targetName === undefined ? (ownValue(own, name) ?? target ?? number) : ownValue(own, targetName);
}

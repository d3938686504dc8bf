/** The ports on which a proxy receives for its workload, one entry a workload port. */
import type { Protocol, ServicePort } from "@flotilla/model";
import { inboundMutualTls, type MutualTlsMode } from "../../../snapshot/scope/authn.ts";
import type { ServiceTarget } from "../../../snapshot/subject.ts";
import { query, type View } from "../../../snapshot/view.ts";

export interface InboundPort {
  /** The workload's port. */
  readonly port: number;
  readonly protocol: Protocol;
  readonly mode: MutualTlsMode;
  readonly servicePort: number;
  readonly hostname: string;
}

/** Ordered by workload port. Of several services on one workload port the first counts. */
export const inboundPorts = query<readonly InboundPort[]>(
  "inbound-ports",
  (view) => {
    const modes = view.read(inboundMutualTls);
    const ports = new Map<number, InboundPort>();
    for (const target of view.proxy.targets) {
      const port = servicePortOf(view, target);
      if (port === undefined || port.protocol === "UDP") continue;
      const taken = ports.get(target.targetPort);
      if (taken !== undefined) {
        reportConflict(view, target, port, taken);
        continue;
      }
      const mode = modes.ports.get(target.targetPort) ?? modes.workload;
      const { hostname } = target;
      ports.set(target.targetPort, {
        port: target.targetPort,
        protocol: port.protocol,
        mode,
        servicePort: port.number,
        hostname,
      });
    }
    return [...ports.values()].sort((a, b) => a.port - b.port);
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function servicePortOf(view: View, target: ServiceTarget): ServicePort | undefined {
  const service = [...view.serviceShards(target).values()][0];
  return service?.ports.find(({ number }) => number === target.port);
}

function reportConflict(view: View, target: ServiceTarget, port: ServicePort, taken: InboundPort): void {
  if (port.protocol === taken.protocol) return;
  view.report({
    metric: "pilot_conflict_inbound_listener",
    object: target.hostname,
    message: `port ${target.targetPort} is ${taken.protocol} for ${taken.hostname} already, ${port.protocol} is left out`,
  });
}

/** The endpoints that a Kubernetes Service gets from the WorkloadEntries its selector matches. */

import type { Endpoint, Service } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import type { SelectableWorkload } from "./workload-entry.ts";

export function selectedByService(
  { workload, addresses, weight, ports, definedBy }: SelectableWorkload,
  service: Service,
): readonly Endpoint[] {
  return service.ports.flatMap(({ name, number }) => {
    const target = service.kubernetes?.targetPorts[number];
    const numeric = target === undefined ? number : Number(target);
    // A target port by name is a promise that the workload has a port of that name.
    const port = Number.isNaN(numeric) ? ownValue(ports, target ?? "") : (ownValue(ports, name) ?? numeric);
    if (port === undefined || port === 0) return [];
    return [{ ...workload, addresses, weight, servicePortName: name, port, health: "unknown" as const, definedBy }];
  });
}

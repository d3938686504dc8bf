/** Under which names and addresses the proxy's workload may call a service. */
import type { Service } from "@flotilla/model";
import { reachableAddresses } from "../../snapshot/scope/service-addresses.ts";
import { aliasesOf } from "../../snapshot/scope/sidecar-scope.ts";
import type { View } from "../../snapshot/view.ts";
import type { ServiceNames } from "./domains.ts";

export function serviceNames(view: View, service: Service): ServiceNames {
  return {
    hostname: service.hostname,
    aliases: view.read(aliasesOf, service.hostname),
    addresses: reachableAddresses(view, service),
    hasPodNames: service.resolution === "passthrough" && service.registry === "Kubernetes",
  };
}

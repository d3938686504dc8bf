/** WDS: services and workloads for ztunnels, and for whoever else asks by their names. */
import { type ServiceFacts, serviceAddress, type WorkloadFacts, workloadAddress } from "@flotilla/ambient";
import { typeUrl } from "@flotilla/proto";
import { AddressSchema } from "@flotilla/proto/istio/workload/workload_pb";
import { gatewayWorkloads } from "../../snapshot/ambient/network-gateways.ts";
import { ambientService } from "../../snapshot/ambient/services.ts";
import { ambientWorkload } from "../../snapshot/ambient/workloads.ts";
import { serviceText } from "../../snapshot/row-index.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";

type Inputs = { readonly service: ServiceFacts } | { readonly workload: WorkloadFacts };

export const addresses = createGenerator({
  typeUrl: typeUrl.address,
  schema: AddressSchema,
  names: (view) => (view.feature("ambient") ? [...serviceNames(view), ...workloadNames(view)] : []),
  select,
  build: (inputs) => ("service" in inputs ? serviceAddress(inputs.service) : workloadAddress(inputs.workload)),
});

function serviceNames(view: View): readonly string[] {
  return view.serviceNames.map((name) => serviceText.write(name));
}

function workloadNames(view: View): readonly string[] {
  const own = view.workloadNamespaces.flatMap((namespace) => view.workloadsIn(namespace));
  return [...own, ...view.read(gatewayWorkloads).keys()];
}

/** Names of services have one slash, `namespace/hostname`; uids of workloads have more. */
function select(view: View, name: string): Inputs | undefined {
  if (!view.feature("ambient")) return undefined;
  const [namespace = "", hostname = "", ...more] = name.split("/");
  if (more.length === 0) {
    const service = view.read(ambientService, serviceText.write({ namespace, hostname }));
    return service && { service };
  }
  const workload = view.read(ambientWorkload, name) ?? view.read(gatewayWorkloads).get(name);
  return workload && { workload };
}

/** WDS: services and workloads for ztunnels, and for whoever else asks by their names. */
import {
  addressNames,
  type ServiceFacts,
  serviceAddress,
  type WorkloadFacts,
  workloadAddress,
  workloadMessage,
} from "@flotilla/ambient";
import { typeUrl } from "@flotilla/proto";
import { AddressSchema, WorkloadSchema } from "@flotilla/proto/istio/workload/workload_pb";
import { namesOfAsked } from "../../snapshot/ambient/asked-names.ts";
import { gatewayWorkloads } from "../../snapshot/ambient/network-gateways.ts";
import { ambientService } from "../../snapshot/ambient/services.ts";
import { ambientWorkload } from "../../snapshot/ambient/workloads.ts";
import { serviceText } from "../../snapshot/row-index.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";

interface WorkloadInputs {
  readonly workload: WorkloadFacts;
}
type Inputs = { readonly service: ServiceFacts } | WorkloadInputs;

export const addresses = createGenerator({
  typeUrl: typeUrl.address,
  schema: AddressSchema,
  names: (view) => (isAmbient(view) ? [...serviceNames(view), ...workloadNames(view)] : []),
  namesFor: (view, asked) => (isAmbient(view) ? namesOfAsked(view, asked) : []),
  select: (view, name): Inputs | undefined =>
    isAmbient(view) ? (service(view, name) ?? workload(view, name)) : undefined,
  aliases: (inputs) => addressNames("service" in inputs ? inputs.service : inputs.workload),
  build: (inputs) => ("service" in inputs ? serviceAddress(inputs.service) : workloadAddress(inputs.workload)),
});

/** The workloads alone, as messages of their own. */
export const workloads = createGenerator({
  typeUrl: typeUrl.workload,
  schema: WorkloadSchema,
  names: (view) => (isAmbient(view) ? workloadNames(view) : []),
  namesFor: (view, asked) => (isAmbient(view) ? namesOfAsked(view, asked) : []),
  select: (view, name) => (isAmbient(view) ? workload(view, name) : undefined),
  aliases: (inputs) => addressNames(inputs.workload),
  build: (inputs) => workloadMessage(inputs.workload),
});

function isAmbient(view: View): boolean {
  return view.feature("ambient");
}

function serviceNames(view: View): readonly string[] {
  return view.serviceNames.map((name) => serviceText.write(name));
}

function workloadNames(view: View): readonly string[] {
  const own = view.workloadNamespaces.flatMap((namespace) => view.workloadsIn(namespace));
  return [...own, ...view.read(gatewayWorkloads).keys()];
}

/** Names of services have one slash, `namespace/hostname`; uids of workloads have more. */
function service(view: View, name: string): Inputs | undefined {
  const [namespace = "", hostname, ...more] = name.split("/");
  if (hostname === undefined || more.length > 0) return undefined;
  const facts = view.read(ambientService, serviceText.write({ namespace, hostname }));
  return facts && { service: facts };
}

function workload(view: View, uid: string): WorkloadInputs | undefined {
  if (uid.split("/").length < 3) return undefined;
  const facts = view.read(ambientWorkload, uid) ?? view.read(gatewayWorkloads).get(uid);
  return facts && { workload: facts };
}

/** WDS: services and workloads for ztunnels, and for other clients that ask by their names. */
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
import { servedService, splitHorizonWorkloads } from "../../snapshot/ambient/split-horizon.ts";
import { ambientWorkload } from "../../snapshot/ambient/workloads.ts";
import { type SliceText, serviceText, sliceTexts } from "../../snapshot/row-index.ts";
import { query, type View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";

interface WorkloadInputs {
  readonly workload: WorkloadFacts;
}
type Inputs = { readonly service: ServiceFacts } | WorkloadInputs;

export const addresses = createGenerator({
  typeUrl: typeUrl.address,
  schema: AddressSchema,
  slices: (view) => (isAmbient(view) ? [...view.read(serviceSlices), ...workloadSlices(view)] : []),
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
  slices: (view) => (isAmbient(view) ? workloadSlices(view) : []),
  namesFor: (view, asked) => (isAmbient(view) ? namesOfAsked(view, asked) : []),
  select: (view, name) => (isAmbient(view) ? workload(view, name) : undefined),
  aliases: (inputs) => addressNames(inputs.workload),
  build: (inputs) => workloadMessage(inputs.workload),
});

function isAmbient(view: View): boolean {
  return view.feature("ambient");
}

const serviceSlices = query("service-slices", (view) =>
  sliceTexts(view.serviceNames.map((name) => serviceText.write(name))),
);

/** A workload more or less leaves the slices of the others as they are. */
function workloadSlices(view: View): readonly SliceText[] {
  const own = view.workloadNamespaces.flatMap((namespace) => view.workloadSlices(namespace));
  const others = [...view.read(gatewayWorkloads).keys(), ...view.read(splitHorizonWorkloads).keys()];
  return [...own, ...sliceTexts(others.sort())];
}

/** Names of services have one slash, `namespace/hostname`; uids of workloads have more. */
function service(view: View, name: string): Inputs | undefined {
  const [namespace = "", hostname, ...more] = name.split("/");
  if (hostname === undefined || more.length > 0) return undefined;
  const facts = view.read(servedService, serviceText.write({ namespace, hostname }));
  return facts && { service: facts };
}

function workload(view: View, uid: string): WorkloadInputs | undefined {
  if (uid.split("/").length < 3) return undefined;
  const facts =
    view.read(ambientWorkload, uid) ??
    view.read(gatewayWorkloads).get(uid) ??
    view.read(splitHorizonWorkloads).get(uid);
  return facts && { workload: facts };
}

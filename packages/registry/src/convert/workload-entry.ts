/** WorkloadEntries, standing alone or within a ServiceEntry: machines outside of Kubernetes. */
import { type Config, isIpAddress, isObject, type Labels, objectsOf, ownValue } from "@flotilla/model";
import type { WorkloadEntrySpec } from "../kube.ts";
import {
  type EndpointContext,
  hboneTrait,
  localityLabel,
  localityOfLabel,
  placedLabels,
  spiffeId,
  tlsModeLabel,
  type Workload,
  workloadNameLabel,
} from "./endpoint-traits.ts";
import { groupAnnotation } from "./registered-workload.ts";

/** A pod or a WorkloadEntry that services may select by its labels. */
export interface SelectableWorkload {
  readonly kind: "Pod" | "WorkloadEntry";
  readonly workload: Workload;
  readonly addresses: readonly string[];
  readonly weight: number;
  /** Ports by name of the service port. */
  readonly ports: Readonly<Record<string, number>>;
  readonly isSocket?: boolean;
  /** Host names and socket paths: only of services whose endpoints are resolved by name can they be endpoints. */
  readonly byNameOnly: boolean;
  readonly definedBy: string;
}

/** The spec with the object's own labels, which win over those of the spec. */
export function mergedWorkloadEntry(entry: Config): WorkloadEntrySpec {
  const spec = entry.spec as WorkloadEntrySpec;
  const labels = { ...spec.labels, ...entry.labels };
  return Object.keys(labels).length === 0 ? spec : { ...spec, labels };
}

/**
 * The group that a machine was registered from, else the name that its label states. @param labels the object's own for sidecars, those of its
 * spec too for ztunnels; as in istiod
 */
export function entryWorkloadName({ key, annotations }: Config, labels: Labels | undefined): string {
  return ownValue(annotations, groupAnnotation) ?? ownValue(labels, workloadNameLabel) ?? key.name;
}

/** A WorkloadEntry as a workload that ServiceEntries and Services can select. */
export function convertWorkloadEntry(entry: Config, context: EndpointContext): SelectableWorkload {
  const spec = mergedWorkloadEntry(entry);
  const address = entryAddress(spec);
  return {
    kind: "WorkloadEntry",
    workload: {
      ...entryWorkload(spec, entryWorkloadName(entry, entry.labels), entry.key.namespace, context),
      ...hboneTrait(spec.labels ?? {}, isFoundByAddress(spec, context) ? entry.annotations : {}),
    },
    addresses: [address],
    weight: spec.weight ?? 0,
    // A socket has no ports.
    ...(isUnixAddress(spec.address ?? "") ? { isSocket: true } : {}),
    ports: spec.ports ?? {},
    // Without an address a gateway leads to it.
    byNameOnly: address !== "" && !isIpAddress(address),
    definedBy: `WorkloadEntry/${entry.key.namespace}/${entry.key.name}`,
  };
}

/**
 * True where callers find the workload that ztunnels know: as in istiod, an entry without a network is an endpoint of none, and a workload in that of
 * the cluster.
 */
function isFoundByAddress({ network = "" }: WorkloadEntrySpec, { systemNetwork }: EndpointContext): boolean {
  return network !== "" || systemNetwork === "";
}

/** Properties that endpoints of a WorkloadEntry inherit from it. */
export function entryWorkload(
  spec: WorkloadEntrySpec,
  name: string,
  namespace: string,
  context: EndpointContext,
): Workload {
  const own = spec.labels ?? {};
  // Neither labels nor address ranges name the network of a machine, as in istiod: the machine reports it itself.
  const network = spec.network ?? "";
  const locality = spec.locality || localityOfLabel(own[localityLabel]);
  return {
    labels: placedLabels(own, { clusterId: context.clusterId, locality, network }),
    serviceAccount: spec.serviceAccount ? spiffeId(context.trustDomain, namespace, spec.serviceAccount) : "",
    network,
    locality,
    clusterId: context.clusterId,
    tlsMode: entryTlsMode(own, spec.serviceAccount),
    ...hboneTrait(own, {}),
    namespace,
    workloadName: name,
  };
}

/** True where the address is that of a Unix domain socket, `unix://PATH`. */
export function isUnixAddress(address: string): boolean {
  return address.startsWith("unix://");
}

/** Socket paths without their scheme, everything else as it stands. */
export function entryAddress({ address = "" }: WorkloadEntrySpec): string {
  return isUnixAddress(address) ? address.slice("unix://".length) : address;
}

/** A machine that was registered with health checks takes part only while they pass. */
export function isHealthyEntry({ annotations, status }: Config): boolean {
  if (annotations["proxy.istio.io/health-checks-enabled"] !== "true") return true;
  // No schema holds for a status.
  const conditions = objectsOf(isObject(status) ? status["conditions"] : undefined);
  return conditions.some(({ type, status: value }) => type === "Healthy" && value === "True");
}

/** The label decides; without one, an identity means that a proxy stands before the workload. */
function entryTlsMode(labels: Labels, serviceAccount: string | undefined): string {
  return labels[tlsModeLabel] ?? (serviceAccount ? "istio" : "disabled");
}

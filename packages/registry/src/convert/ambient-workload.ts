/**
 * Workloads of the ambient mesh, from pods, WorkloadEntries, addresses in ServiceEntries, and addresses in EndpointSlices that
 * belong to no pod. Source: scenario ambient/ztunnel-workloads, corpus ambient.
 */
import {
  type Config,
  creationTimeMs,
  isIpAddress,
  type Labels,
  ownValue,
  type Workload,
  type WorkloadMembership,
  type WorkloadPort,
  type WorkloadTunnel,
} from "@flotilla/model";
import type { KubeEndpointSlice, KubePod, KubeService, ServiceEntrySpec, WorkloadEntrySpec } from "../kube.ts";
import type { EndpointContext } from "./endpoint-traits.ts";
import { isPodReady, nodeLocality, podWorkload } from "./pod.ts";
import { isHealthyEntry, isUnixAddress, mergedWorkloadEntry } from "./workload-entry.ts";

const redirectionAnnotation = "ambient.istio.io/redirection";
const tunnelLabel = "networking.istio.io/tunnel";

/** Undefined for a pod that has no address or has ended. */
export function workloadOfPod(
  pod: KubePod,
  addresses: readonly string[],
  memberOf: readonly WorkloadMembership[],
  context: EndpointContext,
): Workload | undefined {
  const { metadata, spec = {}, status = {} } = pod;
  const hasEnded = status.phase === "Succeeded" || status.phase === "Failed";
  if (hasEnded || addresses.length === 0) return undefined;
  const { clusterId, workloadName, namespace } = podWorkload(pod, context);
  // Pods are in the place of their node and on the network of their cluster, whatever their labels declare to sidecars; as in istiod.
  const locality = nodeLocality(context.nodeOf(spec.nodeName ?? ""));
  const network = context.systemNetwork;
  return {
    kind: "Pod",
    ...{ name: metadata.name, namespace, addresses, labels: metadata.labels ?? {}, network, locality, clusterId },
    creationTimeMs: creationTimeMs(pod),
    serviceAccount: spec.serviceAccountName ?? "",
    workloadName,
    ...(spec.nodeName === undefined || spec.nodeName === "" ? {} : { nodeName: spec.nodeName }),
    isReady: isPodReady(pod),
    ...(spec.hostNetwork === true ? { hostNetwork: true } : {}),
    tunnel: tunnelOf(metadata.labels ?? {}, metadata.annotations ?? {}),
    ports: containerPorts(pod),
    ...(memberOf.length === 0 ? {} : { memberOf }),
  };
}

/** Workloads that take HBONE themselves need no ztunnel. */
export function tunnelOf(labels: Labels, annotations: Labels): WorkloadTunnel {
  if (labels[tunnelLabel]?.split(",").includes("http") === true) return "native";
  return annotations[redirectionAnnotation] === "enabled" ? "hbone" : "none";
}

function containerPorts({ spec = {} }: KubePod): Readonly<Record<string, number>> {
  const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].flatMap(({ ports = [] }) => ports ?? []);
  const named = all.filter(({ name = "", protocol = "TCP" }) => name !== "" && protocol === "TCP");
  return Object.fromEntries(named.map(({ name = "", containerPort }) => [name, containerPort]));
}

export function workloadOfEntry(entry: Config, context: EndpointContext): Workload {
  const spec = mergedWorkloadEntry(entry);
  const tunnel = tunnelOf(spec.labels ?? {}, entry.annotations);
  const { name, namespace } = entry.key;
  return {
    kind: "WorkloadEntry",
    ...{ name, namespace, ...entryTraits(spec, name, context), tunnel },
    creationTimeMs: entry.creationTimeMs,
    isReady: isHealthyEntry(entry),
    ports: spec.ports ?? {},
  };
}

function entryTraits(spec: WorkloadEntrySpec, name: string, context: EndpointContext) {
  const { address = "", labels = {}, locality = "", serviceAccount = "", weight = 0 } = spec;
  const { clusterId, systemNetwork } = context;
  return {
    addresses: isIpAddress(address) ? [address] : [],
    ...(address === "" || isIpAddress(address) ? {} : { hostname: address }),
    ...{ labels, locality, clusterId, serviceAccount, workloadName: name },
    network: spec.network || systemNetwork,
    ...(weight > 0 ? { capacity: weight } : {}),
  } as const;
}

/** The addresses that a ServiceEntry names itself, by address: a name that proxies resolve counts as one where it names none. */
export function workloadsOfServiceEntry(entry: Config, context: EndpointContext): ReadonlyMap<string, Workload> {
  const spec = entry.spec as ServiceEntrySpec;
  const { name, namespace } = entry.key;
  const found = new Map<string, Workload>();
  if (spec.workloadSelector !== undefined) return found;
  for (const endpoint of namedEndpoints(spec)) {
    const { address = "", hosts } = endpoint;
    if (isUnixAddress(address)) continue;
    const memberOf = hosts.map((hostname) => ({ namespace, hostname, ports: entryPorts(spec, endpoint) }));
    const workload: Workload = {
      kind: "ServiceEntry",
      ...{ name, namespace, ...entryTraits(endpoint, name, context) },
      creationTimeMs: entry.creationTimeMs,
      labels: entry.labels,
      ...(endpoint.labels === undefined ? {} : { bindingLabels: endpoint.labels }),
      // As in istiod, the ServiceEntry states it for all of its addresses.
      tunnel: tunnelOf(entry.labels, entry.annotations),
      isReady: true,
      ports: {},
      memberOf,
    };
    found.set(address, workload);
  }
  return found;
}

function namedEndpoints({ endpoints = [], hosts = [], resolution }: ServiceEntrySpec) {
  const isByName = resolution === "DNS" || resolution === "DNS_ROUND_ROBIN" || resolution === "DYNAMIC_DNS";
  if (endpoints.length === 0 && isByName) return hosts.map((address): EntryEndpoint => ({ address, hosts: [address] }));
  return endpoints.map((endpoint): EntryEndpoint => ({ ...endpoint, hosts }));
}

interface EntryEndpoint extends WorkloadEntrySpec {
  readonly hosts: readonly string[];
}

function entryPorts({ ports = [] }: ServiceEntrySpec, endpoint: WorkloadEntrySpec): readonly WorkloadPort[] {
  return ports.map(({ number, name = "", targetPort = 0 }) => ({
    servicePort: number,
    targetPort: ownValue(endpoint.ports, name) || targetPort || number,
  }));
}

/** The service of an EndpointSlice without pods. */
export interface SliceService {
  readonly service: KubeService;
  readonly hostname: string;
}

/** Services without a selector have the ports that their slice gives them, by name. */
export function slicePorts(
  slice: Pick<KubeEndpointSlice, "ports">,
  { service }: SliceService,
): readonly WorkloadPort[] {
  return (service.spec?.ports ?? []).flatMap(({ name = "", port }) => {
    const own = (slice.ports ?? []).find((candidate) => (candidate.name ?? "") === name);
    return own?.port === undefined ? [] : [{ servicePort: port, targetPort: own.port }];
  });
}

/**
 * Addresses in a slice that name no pod, by address: they may belong to a node's network, so that nothing is known of the
 * workload behind them.
 */
export function workloadsOfSlice(
  slice: KubeEndpointSlice,
  owner: SliceService,
  { clusterId, systemNetwork }: EndpointContext,
): ReadonlyMap<string, Workload> {
  const found = new Map<string, Workload>();
  if (slice.addressType === "FQDN") return found;
  const { name, namespace = "" } = slice.metadata;
  // As in istiod, ports of datagrams are those of pods alone.
  const ports = (slice.ports ?? []).filter(({ protocol = "TCP" }) => protocol === "TCP");
  const memberOf = [{ namespace, hostname: owner.hostname, ports: slicePorts({ ports }, owner) }];
  for (const { addresses = [], conditions = {}, targetRef } of slice.endpoints ?? []) {
    if (targetRef !== undefined) continue;
    for (const address of addresses) {
      found.set(address, {
        kind: "EndpointSlice",
        ...{ name, namespace, addresses: [address], labels: {}, network: systemNetwork, locality: "", clusterId },
        ...{ serviceAccount: "", workloadName: "", isReady: conditions.ready ?? true, hostNetwork: true },
        ...{ tunnel: "none", ports: {}, memberOf },
      });
    }
  }
  return found;
}

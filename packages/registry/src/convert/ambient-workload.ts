/**
 * Workloads of the ambient mesh, from pods, WorkloadEntries, and addresses in ServiceEntries. Source: scenario ambient/ztunnel-workloads, corpus ambient.
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
import type { KubePod, ServiceEntrySpec, WorkloadEntrySpec } from "../kube.ts";
import type { EndpointContext } from "./endpoint-traits.ts";
import { ambientLocality, isPodReady, podWorkload } from "./pod.ts";
import { entryWorkloadName, isHealthyEntry, isUnixAddress, mergedWorkloadEntry } from "./workload-entry.ts";

const redirectionAnnotation = "ambient.istio.io/redirection";
const tunnelLabel = "networking.istio.io/tunnel";

/** Undefined for a pod that has no address or has ended, and for one of whose addresses any is invalid. */
export function workloadOfPod(
  pod: KubePod,
  addresses: readonly string[],
  memberOf: readonly WorkloadMembership[],
  context: EndpointContext,
): Workload | undefined {
  const { metadata, spec = {}, status = {} } = pod;
  const hasEnded = status.phase === "Succeeded" || status.phase === "Failed";
  if (hasEnded || addresses.length === 0 || !addresses.every(isIpAddress)) return undefined;
  const { clusterId, workloadName, namespace } = podWorkload(pod, context);
  // Pods are in the place of their node and on the network of their cluster, whatever their labels declare to sidecars; as in istiod.
  const locality = ambientLocality(context.nodeOf(spec.nodeName ?? ""));
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

/** By name. */
export function containerPorts({ spec = {} }: KubePod): Readonly<Record<string, number>> {
  const besides = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const all = [...(spec.containers ?? []), ...besides].flatMap(({ ports = [] }) => ports ?? []);
  const named = all.filter(({ name = "", protocol = "TCP" }) => name !== "" && protocol === "TCP");
  // Of several ports of one name the first counts.
  return Object.fromEntries(named.reverse().map(({ name = "", containerPort }) => [name, containerPort]));
}

export function workloadOfEntry(entry: Config, context: EndpointContext): Workload {
  const spec = mergedWorkloadEntry(entry);
  const tunnel = tunnelOf(spec.labels ?? {}, entry.annotations);
  const { name, namespace } = entry.key;
  return {
    kind: "WorkloadEntry",
    ...{ name, namespace, ...entryTraits(spec, entryWorkloadName(entry, spec.labels), context), tunnel },
    creationTimeMs: entry.creationTimeMs,
    isReady: isHealthyEntry(entry),
    ports: spec.ports ?? {},
  };
}

function entryTraits(spec: WorkloadEntrySpec, workloadName: string, context: EndpointContext) {
  const { address = "", labels = {}, locality = "", serviceAccount = "", weight = 0 } = spec;
  const { clusterId, systemNetwork } = context;
  return {
    addresses: isIpAddress(address) ? [address] : [],
    ...(address === "" || isIpAddress(address) ? {} : { hostname: address }),
    ...{ labels, locality, clusterId, serviceAccount, workloadName },
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

/**
 * Traits that endpoints of every origin get: labels by place, so that subsets can select by them, identities as SPIFFE ids, and the
 * network of their address, by MeshNetworks. Source: Istio's MeshNetworks reference.
 */
import { addressNumber, type Endpoint, type Labels, parseCidr, parseLocality } from "@flotilla/model";
import type { KubeNode } from "../kube.ts";

/** Labels that endpoints get beside those of their workload, so that subsets can select by place. */
export const networkLabel = "topology.istio.io/network";
/** The label with the subzone of a node or workload. */
export const subzoneLabel = "topology.istio.io/subzone";
/** The label with a locality, `region/zone/subzone`, or with dots in place of slashes. */
export const localityLabel = "istio-locality";
/** States the name of a workload in telemetry. */
export const workloadNameLabel = "service.istio.io/workload-name";
/** The label by which a workload states whether it accepts mutual TLS. */
export const tlsModeLabel = "security.istio.io/tlsMode";

const tunnelLabel = "networking.istio.io/tunnel";
const redirectionAnnotation = "ambient.istio.io/redirection";

/** Marks workloads that end HBONE by themselves or are captured by the ztunnel of their node. */
export function hboneTrait(labels: Labels, annotations: Labels): { readonly takesHbone?: true } {
  const takesHbone = labels[tunnelLabel] === "http" || annotations[redirectionAnnotation] === "enabled";
  return takesHbone ? { takesHbone } : {};
}

interface Placement {
  readonly clusterId: string;
  readonly locality: string;
  readonly network: string;
  readonly nodeName?: string;
}

/** The workload's labels with those of its place; its own network label stays. Empty parts add no label. */
export function placedLabels(own: Labels, { clusterId, locality, network, nodeName = "" }: Placement): Labels {
  const { region, zone, subzone } = parseLocality(locality);
  const labels: Record<string, string> = { ...own };
  if (region !== "") labels["topology.kubernetes.io/region"] = region;
  if (zone !== "") labels["topology.kubernetes.io/zone"] = zone;
  if (subzone !== "") labels[subzoneLabel] = subzone;
  if (clusterId !== "") labels["topology.istio.io/cluster"] = clusterId;
  if (nodeName !== "") labels["kubernetes.io/hostname"] = nodeName;
  if (network !== "" && !labels[networkLabel]) labels[networkLabel] = network;
  return labels;
}

/** Label values hold no slash: a locality label may have dots instead. */
export function localityOfLabel(value: string | undefined): string {
  if (value === undefined) return "";
  return value.includes("/") ? value : value.replaceAll(".", "/");
}

/** The SPIFFE id of a workload, `spiffe://TRUST_DOMAIN/ns/NAMESPACE/sa/SERVICE_ACCOUNT`. */
export function spiffeId(trustDomain: string, namespace: string, serviceAccount: string): string {
  // SPIFFE allows no "@" in a trust domain, but trust domains taken from cloud projects have one.
  return `spiffe://${trustDomain.replaceAll("@", ".")}/ns/${namespace}/sa/${serviceAccount}`;
}

/** Properties of the mesh that endpoints depend on. */
export interface EndpointContext {
  readonly clusterId: string;
  readonly trustDomain: string;
  readonly dualStack: boolean;
  readonly persistentSessionLabel: string;
  /** Network by address where neither labels nor the system namespace name one. */
  readonly networkOf: (address: string) => string;
  /** The network label of the system namespace; "" without. */
  readonly systemNetwork: string;
  readonly nodeOf: (name: string) => KubeNode | undefined;
}

/** The fields of an endpoint that come from its workload. */
export type Workload = Pick<
  Endpoint,
  | "labels"
  | "serviceAccount"
  | "network"
  | "locality"
  | "clusterId"
  | "tlsMode"
  | "takesHbone"
  | "namespace"
  | "workloadName"
  | "hostname"
  | "subdomain"
  | "nodeName"
>;

/** The workload of an address without a pod: not even its namespace is known. Source: scenario services/selectorless. */
export function unknownWorkload(address: string, context: EndpointContext): Workload {
  const network = endpointNetwork(address, {}, context);
  return {
    labels: placedLabels({}, { clusterId: context.clusterId, locality: "", network }),
    serviceAccount: "",
    network,
    locality: "",
    clusterId: context.clusterId,
    tlsMode: "disabled",
    namespace: "",
    workloadName: "",
  };
}

/** The workload's label wins, then the system namespace's, then MeshNetworks. */
export function endpointNetwork(address: string, labels: Labels, context: EndpointContext): string {
  return labels[networkLabel] || context.systemNetwork || context.networkOf(address);
}

/** The fields of MeshNetworks that networks of endpoints follow from. */
export interface MeshNetworksSpec {
  readonly networks?: Readonly<Record<string, { readonly endpoints?: readonly NetworkEndpoints[] }>>;
}
interface NetworkEndpoints {
  readonly fromCidr?: string;
  readonly fromRegistry?: string;
}

/** The network of an address; "" when no network has it. */
export type NetworkLookup = (address: string) => string;

interface Range {
  readonly network: string;
  readonly base: bigint;
  readonly bits: bigint;
  readonly width: number;
}

/** A network that takes the whole registry of `clusterId` goes before address ranges; of ranges the narrowest wins. */
export function networkLookup(networks: MeshNetworksSpec | undefined, clusterId: string): NetworkLookup {
  const ranges: Range[] = [];
  let ofRegistry = "";
  for (const [network, { endpoints = [] }] of Object.entries(networks?.networks ?? {})) {
    for (const { fromCidr, fromRegistry } of endpoints) {
      if (fromRegistry === clusterId) ofRegistry = network;
      const range = fromCidr === undefined ? undefined : parseRange(network, fromCidr);
      if (range !== undefined) ranges.push(range);
    }
  }
  if (ofRegistry !== "") return () => ofRegistry;
  if (ranges.length === 0) return () => "";
  ranges.sort((a, b) => (a.bits < b.bits ? -1 : a.bits > b.bits ? 1 : 0));
  return (address) => {
    const number = addressNumber(address);
    if (number === undefined) return "";
    const width = address.includes(":") ? 128 : 32;
    return ranges.find((r) => r.width === width && number >> r.bits === r.base)?.network ?? "";
  };
}

function parseRange(network: string, cidr: string): Range | undefined {
  const range = cidr.includes("/") ? parseCidr(cidr) : undefined;
  const number = range && addressNumber(range.address);
  if (range === undefined || number === undefined) return undefined;
  const width = range.address.includes(":") ? 128 : 32;
  const bits = BigInt(width - range.length);
  return { network, base: number >> bits, bits, width };
}

/**
 * Traits that endpoints of every origin get: labels by place, so that subsets can select by them, and identities as SPIFFE
 * ids.
 */
import type { Labels } from "@flotilla/model";

/** Labels that endpoints get beside those of their workload, so that subsets can select by place. */
export const networkLabel = "topology.istio.io/network";
/** The label with the subzone of a node or workload. */
export const subzoneLabel = "topology.istio.io/subzone";
/** The label with a locality, `region/zone/subzone`, or with dots in place of slashes. */
export const localityLabel = "istio-locality";
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
  const [region = "", zone = "", subzone = ""] = locality.split("/");
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

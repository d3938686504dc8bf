/** Selects the Ingresses that the mesh serves, and their addresses: as istiod decides it. */
import { isIP } from "node:net";
import { type IngressSettings, isServedIngress } from "@flotilla/gateway-api";
import type { Ingress, IngressClass, Node, Pod, Service } from "@flotilla/kube-api";

export interface LoadBalancerAddress {
  readonly ip?: string;
  readonly hostname?: string;
}

/** `classes`: by name. */
export function isServed(
  { metadata, spec }: Ingress,
  classes: ReadonlyMap<string, IngressClass>,
  settings: IngressSettings,
): boolean {
  const ingress = { annotations: metadata.annotations ?? {}, ingressClassName: spec?.ingressClassName };
  return isServedIngress(ingress, (name) => classes.get(name) && (classes.get(name)?.spec?.controller ?? ""), settings);
}

/** In a fixed order, each once. */
export function addressesOf({ spec, status }: Service): readonly LoadBalancerAddress[] {
  const balanced = status?.loadBalancer?.ingress?.map(({ ip, hostname }) => ip || hostname || "") ?? [];
  const texts = spec?.type === "ExternalName" ? [spec.externalName ?? ""] : [...balanced, ...(spec?.externalIPs ?? [])];
  return inOrder(texts);
}

function inOrder(texts: readonly string[]): readonly LoadBalancerAddress[] {
  return [...new Set(texts.filter((text) => text !== ""))]
    .sort()
    .map((text) => (isIP(text) === 0 ? { hostname: text } : { ip: text }))
    .sort((a, b) => Number("ip" in a) - Number("ip" in b));
}

/**
 * Where no Service is named: the external addresses of the nodes with a running pod of the gateway.
 * differs: istiod takes one of these pods, whichever comes first.
 */
export function nodeAddressesOf(
  pods: readonly Pod[],
  nodes: ReadonlyMap<string, Node>,
  label: string,
): readonly LoadBalancerAddress[] {
  const names = pods
    .filter(({ metadata, status }) => metadata.labels?.["istio"] === label && status?.phase === "Running")
    .map(({ spec }) => spec?.nodeName ?? "");
  const addresses = names.flatMap((name) => nodes.get(name)?.status?.addresses ?? []);
  return inOrder(addresses.flatMap(({ type, address }) => (type === "ExternalIP" ? address : [])));
}

/** Others may have written ports and more to the same addresses: that stays. */
export function isPublishedAlready({ status }: Ingress, addresses: readonly LoadBalancerAddress[]): boolean {
  const published = status?.loadBalancer?.ingress ?? [];
  const text = (all: readonly LoadBalancerAddress[]) => all.map(({ ip, hostname }) => ip ?? hostname).join(" ");
  return text(published) === text(addresses);
}

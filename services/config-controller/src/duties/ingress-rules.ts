/** Which Ingresses the mesh serves, and at which addresses: as istiod decides it. */
import { isIP } from "node:net";
import type { Ingress, IngressClass, Service } from "@flotilla/kube-api";

export interface LoadBalancerAddress {
  readonly ip?: string;
  readonly hostname?: string;
}

/** Of MeshConfig. */
export interface IngressSettings {
  readonly ingressControllerMode?: string;
  readonly ingressClass?: string;
  readonly ingressService?: string;
}

const classAnnotation = "kubernetes.io/ingress.class";
const controller = "istio.io/ingress-controller";

/** `classes`: by name. The annotation counts before the class; with neither only the mode DEFAULT takes it. */
export function isServed(
  { metadata, spec }: Ingress,
  classes: ReadonlyMap<string, IngressClass>,
  { ingressControllerMode: mode = "STRICT", ingressClass = "istio" }: IngressSettings,
): boolean {
  const annotation = metadata.annotations?.[classAnnotation];
  if (annotation !== undefined) {
    if (mode === "OFF") return false;
    return annotation === ingressClass || (mode === "DEFAULT" && annotation === "");
  }
  const named = classes.get(spec?.ingressClassName ?? "");
  return named === undefined ? mode === "DEFAULT" : named.spec?.controller === controller;
}

/** In a fixed order, each once. */
export function addressesOf({ spec, status }: Service): readonly LoadBalancerAddress[] {
  const balanced = status?.loadBalancer?.ingress?.map(({ ip, hostname }) => ip || hostname || "") ?? [];
  const texts = spec?.type === "ExternalName" ? [spec.externalName ?? ""] : [...balanced, ...(spec?.externalIPs ?? [])];
  return [...new Set(texts.filter((text) => text !== ""))]
    .sort()
    .map((text) => (isIP(text) === 0 ? { hostname: text } : { ip: text }))
    .sort((a, b) => Number("ip" in a) - Number("ip" in b));
}

/** Others may have written ports and more to the same addresses: that stays. */
export function isToldAlready({ status }: Ingress, addresses: readonly LoadBalancerAddress[]): boolean {
  const told = status?.loadBalancer?.ingress ?? [];
  const text = (all: readonly LoadBalancerAddress[]) => all.map(({ ip, hostname }) => ip ?? hostname).join(" ");
  return text(told) === text(addresses);
}

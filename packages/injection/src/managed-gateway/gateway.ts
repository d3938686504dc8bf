/** A Gateway of the Gateway API as far as deploying it looks into it, and whether it is deployed at all. */
import type { GatewayClassRules } from "@flotilla/gateway-api";
import type { LabelSelector } from "@flotilla/model";
import type { Json, Texts } from "../pod.ts";

export interface KubeGateway {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid?: string;
    readonly labels?: Texts;
    readonly annotations?: Texts;
  };
  readonly spec: {
    readonly gatewayClassName: string;
    readonly listeners?: readonly GatewayListener[] | null;
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[] | null;
    readonly allowedListeners?: {
      readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector };
    } | null;
    readonly infrastructure?: {
      readonly labels?: Texts;
      readonly annotations?: Texts;
      readonly parametersRef?: { readonly group: string; readonly kind: string; readonly name: string };
    } | null;
  };
}

export interface GatewayListener {
  readonly name?: string;
  readonly port: number;
  readonly protocol: string;
}

/** The version of the controller's logic that deploys a Gateway: the larger one wins, so that two revisions do not fight. */
const controllerVersion = { annotation: "gateway.istio.io/controller-version", own: 5 } as const;

export const annotations = {
  name: "gateway.istio.io/name-override",
  serviceAccount: "gateway.istio.io/service-account",
  serviceType: "networking.istio.io/service-type",
} as const;

/** Addresses that are names stand for a deployment that exists already; no address, or one IP, is to be deployed for. */
export function isDeployed({ spec }: KubeGateway, allowsManual: boolean): boolean {
  const addresses = spec.addresses ?? [];
  if (!allowsManual || addresses.length === 0) return true;
  const type = addresses[0]?.type ?? "IPAddress";
  return addresses.length === 1 && type === "IPAddress";
}

/** `take-over`: ours, once the Gateway carries our version; `theirs`: a newer controller's, or one that counts otherwise. */
export function ownershipOf({ metadata }: KubeGateway): "ours" | "take-over" | "theirs" {
  const text = metadata.annotations?.[controllerVersion.annotation];
  if (text === undefined) return "take-over";
  if (!/^[+-]?\d+$/.test(text) || Number(text) > controllerVersion.own) return "theirs";
  return Number(text) === controllerVersion.own ? "ours" : "take-over";
}

/** The mark of a Gateway as ours, to be applied to it. */
export function versionMark({ metadata: { name, namespace } }: KubeGateway): Json {
  const marks = { [controllerVersion.annotation]: String(controllerVersion.own) };
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name, namespace, annotations: marks },
  };
}

/** Names of what is deployed; users override both. */
export function deployedNames(
  { metadata, spec }: KubeGateway,
  { keepsName }: Pick<GatewayClassRules, "keepsName">,
): { readonly deployment: string; readonly serviceAccount: string } {
  const own = keepsName ? metadata.name : `${metadata.name}-${spec.gatewayClassName}`;
  const { [annotations.name]: deployment = own, [annotations.serviceAccount]: serviceAccount = own } =
    metadata.annotations ?? {};
  return { deployment, serviceAccount };
}

/** The ConfigMap of the Gateway's namespace with changes of what is deployed. */
export function parametersOf({ spec }: KubeGateway): string | undefined | { readonly unknown: string } {
  const reference = spec.infrastructure?.parametersRef;
  if (reference === undefined) return undefined;
  const { group, kind, name } = reference;
  return group === "" && kind === "ConfigMap" ? name : { unknown: `${group}/${kind}` };
}

/** Consul's description of a service, as its health endpoint answers; the reader of Consul checks types before. */
import type { Labels } from "@flotilla/model";

/** Names a service of a catalog. Namespace and partition are empty where Consul has none. */
export interface ConsulServiceKey {
  readonly datacenter: string;
  readonly partition: string;
  readonly namespace: string;
  readonly name: string;
}

/** One entry of `/v1/health/service/NAME`. */
export interface ConsulInstance {
  readonly node: string;
  readonly nodeAddress: string;
  readonly datacenter: string;
  readonly id: string;
  /** Of what Consul's own mesh runs: `connect-proxy`, `mesh-gateway` …; empty for a service. */
  readonly kind?: string;
  /** Empty: the node's address holds. */
  readonly address: string;
  readonly port: number;
  readonly tags: readonly string[];
  readonly meta: Labels;
  /** By name: `lan`, `wan`, `virtual`, `consul-virtual` … */
  readonly taggedAddresses: Readonly<Record<string, string>>;
  readonly weights: { readonly passing: number; readonly warning: number };
  readonly locality: { readonly region: string; readonly zone: string };
  /** States of the checks of the node and of the service: passing, warning, critical. */
  readonly checks: readonly string[];
}

/** All instances of a service as they are now; a service without any is no more. */
export type ConsulChange =
  | {
      readonly type: "consul";
      readonly op: "put";
      readonly key: ConsulServiceKey;
      readonly instances: readonly ConsulInstance[];
    }
  | { readonly type: "consul"; readonly op: "delete"; readonly key: ConsulServiceKey };

/** The key as text, unique among all datacenters, partitions and namespaces. */
export function consulKeyText({ datacenter, partition, namespace, name }: ConsulServiceKey): string {
  return `${datacenter}/${partition}/${namespace}/${name}`;
}

/** `Consul/datacenter[/partition][/namespace]/name`, as problems and endpoints name their origin. */
export function consulOrigin({ datacenter, partition, namespace, name }: ConsulServiceKey): string {
  return ["Consul", datacenter, partition, namespace, name].filter((part) => part !== "").join("/");
}

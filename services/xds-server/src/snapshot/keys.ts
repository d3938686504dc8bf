/** The graph's input keys. No other module spells one. */

import type { InputKey } from "@flotilla/incremental";
import {
  type Config,
  type ConfigKey,
  configKeyText,
  type Endpoint,
  type Service,
  type TextOf,
  textCodec,
} from "@flotilla/model";
import type { MeshConfig } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { MeshNetworks } from "@flotilla/proto/mesh/v1alpha1/network_pb";
import type { FeatureName, Features } from "./features.ts";

/** A service as the registries have it, one element a shard and defining object (`shard|name`), in order of these. */
export type ServiceShards = ReadonlyMap<string, Service>;
/** Endpoints by shard (`registry/cluster`). */
export type EndpointShards = ReadonlyMap<string, readonly Endpoint[]>;

export interface ServiceName {
  readonly namespace: string;
  readonly hostname: string;
}

/** The name of a service as an argument. */
export const serviceText = textCodec("ServiceName", "/", ["namespace", "hostname"]);
export type ServiceText = TextOf<typeof serviceText>;

/** A host name and a port as an argument. */
export const hostAndPort = textCodec("HostAndPort", "|", ["hostname", "port"]);
export type HostAndPort = TextOf<typeof hostAndPort>;

export interface AddressUse extends ServiceName {
  readonly shard: string;
}

export const keys = {
  config: (key: ConfigKey): InputKey<Config> => `config/${configKeyText(key)}`,
  allOf: (kind: string): InputKey<readonly Config[]> => `row/kind/${kind}`,
  row: (index: string, key: string): InputKey<readonly Config[]> => `row/${index}/${key}`,
  service: ({ namespace, hostname }: ServiceName): InputKey<ServiceShards> => `service/${namespace}/${hostname}`,
  /** All names, ordered by host name and namespace; changes only when a service comes or goes. */
  serviceNames: "service-names" as InputKey<readonly ServiceName[]>,
  /** The namespaces that have a service of this host name. */
  servicesByHost: (hostname: string): InputKey<readonly ServiceName[]> => `services-by-host/${hostname}`,
  /** The services of a namespace whose selector asks for a label, of several for the first by name. */
  selectorRow: (namespace: string, label: string, value: string): InputKey<readonly ServiceName[]> =>
    `selector/${namespace}/${label}=${value}`,
  endpoints: ({ namespace, hostname }: ServiceName): InputKey<EndpointShards> => `endpoints/${namespace}/${hostname}`,
  /** Which services have an endpoint at an address. */
  address: (address: string): InputKey<readonly AddressUse[]> => `address/${address}`,
  mesh: "mesh" as InputKey<MeshConfig>,
  feature: <Name extends FeatureName>(name: Name): InputKey<Features[Name]> => `feature/${name}`,
  networks: "networks" as InputKey<MeshNetworks>,
};

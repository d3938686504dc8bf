/**
 * A service of Consul's catalog as a service of the mesh. By default as Istio's Consul adapter of 1.7 had it: host
 * `NAME.service.consul` in the namespace `default`, tags `key|value` for labels, the protocol from the service's meta data.
 * On top of it: health, weights, meta data and plain tags for labels, hosts with the datacenter, namespaces and partitions.
 */
import {
  compareText,
  type Endpoint,
  isIpAddress,
  type Labels,
  type Protocol,
  parseProtocol,
  type Service,
  type ServicePort,
} from "@flotilla/model";
import { type ConsulInstance, type ConsulServiceKey, consulOrigin } from "../consul.ts";
import { type EndpointContext, endpointNetwork, placedLabels, spiffeId, tlsModeLabel } from "./endpoint-traits.ts";
import { isValidPort, unspecifiedAddress } from "./kubernetes-service.ts";

/** Plain tags become labels of this prefix, so that subsets can select by them. */
const tagLabelPrefix = "tags.consul/";
const defaultNamespace = "default";

/** The namespace of the mesh that a Consul service belongs to. */
export function consulNamespace({ namespace }: ConsulServiceKey): string {
  return namespace === "" ? defaultNamespace : namespace;
}

/**
 * The host of all datacenters, and that of one. Source: Consul's DNS names of services, which spell out what is not the
 * default.
 */
export function consulHosts({ name, namespace, partition, datacenter }: ConsulServiceKey): {
  readonly everywhere: string;
  readonly here: string;
} {
  const isDefault = (text: string) => text === "" || text === "default";
  const plain = isDefault(namespace) && isDefault(partition);
  const inNamespace = isDefault(namespace) ? "" : `.${namespace}.ns`;
  const inPartition = isDefault(partition) ? "" : `.${partition}.ap`;
  const base = `${name}.service${inNamespace}${inPartition}`;
  return { everywhere: `${base}.consul`, here: `${base}.${datacenter}${plain ? "" : ".dc"}.consul` };
}

/** Undefined when no instance has a port that callers could be sent to. */
export function convertConsulService(
  key: ConsulServiceKey,
  hostname: string,
  instances: readonly ConsulInstance[],
): Service | undefined {
  const ports = consulPorts(instances);
  if (ports.length === 0) return undefined;
  const meshExternal = instances.some(isExternal);
  return {
    hostname,
    namespace: consulNamespace(key),
    name: key.name,
    registry: "Consul",
    ports,
    resolution: meshExternal ? "passthrough" : "client-side",
    meshExternal,
    defaultAddress: virtualAddress(instances),
    clusterVips: {},
    creationTimeMs: 0,
    labels: {},
    exportTo: [],
    serviceAccounts: [],
    definedBy: consulOrigin(key),
  };
}

/** The endpoints of all instances, with weight and health as Consul's checks have them. */
export function consulEndpoints(
  key: ConsulServiceKey,
  instances: readonly ConsulInstance[],
  context: EndpointContext,
): readonly Endpoint[] {
  const names = new Map(consulPorts(instances).map(({ number, name }) => [number, name]));
  return [...instances].sort(byPlace).flatMap((instance): readonly Endpoint[] => {
    const servicePortName = names.get(instance.port);
    const address = instanceAddress(instance);
    if (servicePortName === undefined || address === "") return [];
    const own = consulLabels(instance);
    const locality = localityOf(instance);
    const network = endpointNetwork(address, own, context);
    const { clusterId } = context;
    return [
      {
        addresses: [address],
        servicePortName,
        servicePort: instance.port,
        port: instance.port,
        labels: placedLabels(own, { clusterId, locality, network, nodeName: instance.node }),
        serviceAccount: spiffeId(context.trustDomain, defaultNamespace, "default"),
        network,
        locality,
        clusterId,
        weight: weightOf(instance),
        tlsMode: own[tlsModeLabel] ?? "disabled",
        namespace: consulNamespace(key),
        workloadName: key.name,
        nodeName: instance.node,
        health: isHealthy(instance) ? "healthy" : "unhealthy",
        definedBy: `${consulOrigin(key)}/${instance.id}`,
      },
    ];
  });
}

/** Tags win over meta data: the adapter of 1.7 read only them. */
export function consulLabels({ tags, meta }: ConsulInstance): Labels {
  const own = Object.entries(meta).filter(([name]) => name !== "protocol" && name !== "external");
  const labels = new Map(own);
  for (const tag of tags) {
    const pair = /^([^|=]+)[|=](.*)$/s.exec(tag);
    if (pair === null) labels.set(`${tagLabelPrefix}${tag}`, "true");
    else labels.set(pair[1] ?? "", pair[2] ?? "");
  }
  return Object.fromEntries(labels);
}

/** An unknown one is carried as TCP. */
export function consulProtocol({ meta }: ConsulInstance): { readonly protocol: Protocol; readonly isKnown: boolean } {
  const text = meta["protocol"] ?? "";
  if (text === "") return { protocol: "TCP", isKnown: true };
  const protocol = parseProtocol(text);
  return protocol === "Unsupported" ? { protocol: "TCP", isKnown: false } : { protocol, isKnown: true };
}

/** The address of the instance, else that of its node. */
export function instanceAddress({ address, nodeAddress }: ConsulInstance): string {
  return address || nodeAddress;
}

/**
 * The union over the instances, by number. Several ports of one protocol need names of their own, for rules and endpoints
 * name ports by them: all but the lowest get their number. Of two protocols for one port the first instance's holds.
 */
export function consulPorts(instances: readonly ConsulInstance[]): readonly ServicePort[] {
  const byNumber = new Map<number, { readonly name: string; readonly protocol: Protocol }>();
  for (const instance of [...instances].sort(byPlace)) {
    const { port } = instance;
    if (!isValidPort({ port }) || byNumber.has(port)) continue;
    const { protocol, isKnown } = consulProtocol(instance);
    byNumber.set(port, { protocol, name: isKnown ? instance.meta["protocol"] || "tcp" : "tcp" });
  }
  const taken = new Set<string>();
  return [...byNumber]
    .sort(([a], [b]) => a - b)
    .map(([number, { name, protocol }]) => {
      const own = taken.has(name) ? `${name}-${number}` : name;
      taken.add(own);
      return { name: own, number, protocol };
    });
}

/** The catalog's answers come in no fixed order; equal instances have to give equal bytes. */
export function byPlace(a: ConsulInstance, b: ConsulInstance): number {
  return compareText(a.node, b.node) || compareText(a.id, b.id);
}

function isExternal({ meta }: ConsulInstance): boolean {
  return (meta["external"] ?? "") !== "";
}

/** A critical check of the node or the service takes an instance out, as Consul's own DNS does. */
export function isHealthy({ checks, weights }: ConsulInstance): boolean {
  if (checks.includes("critical") || checks.includes("maintenance")) return false;
  return !checks.includes("warning") || weights.warning > 0;
}

/** The weight that Consul's DNS gives the instance in its present state. */
export function weightOf({ checks, weights }: ConsulInstance): number {
  return checks.includes("warning") && weights.warning > 0 ? weights.warning : weights.passing;
}

/** `region/zone`, the datacenter where Consul has no region. */
export function localityOf({ locality, datacenter }: ConsulInstance): string {
  const { region, zone } = locality;
  if (region === "") return datacenter;
  return zone === "" ? region : `${region}/${zone}`;
}

/** The address that Consul itself gave the service, where all instances agree on it. */
function virtualAddress(instances: readonly ConsulInstance[]): string {
  const [address = "", ...others] = new Set(
    instances.map(({ taggedAddresses }) => taggedAddresses["virtual"] ?? taggedAddresses["consul-virtual"] ?? ""),
  );
  return others.length === 0 && isIpAddress(address) ? address : unspecifiedAddress;
}

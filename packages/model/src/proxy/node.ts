/** Reads a node id of the form `type~ip~name.namespace~domain` together with its metadata into a Proxy. */
import { isIpAddress } from "../names/address.ts";
import { metadataList, metadataMap, metadataText, type NodeMetadata } from "./node-metadata.ts";
import { type Locality, type Proxy, type ProxyType, parseIstioVersion } from "./proxy.ts";

const proxyTypes: ReadonlySet<string> = new Set<ProxyType>([
  "sidecar",
  "router",
  "waypoint",
  "ztunnel",
  "agentgateway",
]);

export interface NodeInfo {
  readonly id: string;
  readonly cluster?: string;
  readonly metadata: NodeMetadata;
  readonly locality?: Locality;
  /** Type URLs of `node.extensions`; undefined when the client sent none. */
  readonly extensions?: ReadonlySet<string>;
}

/** The node cannot be served; the message is meant for the person that configured the client. */
export class NodeError extends Error {
  override readonly name = "NodeError";
}

/** @throws NodeError naming the part that is wrong. */
export function parseNode({ id, cluster = "", metadata, locality, extensions }: NodeInfo): Proxy {
  const parts = id.split("~");
  const [type, address, name, dnsDomain] = parts;
  if (
    parts.length < 4 ||
    type === undefined ||
    address === undefined ||
    name === undefined ||
    dnsDomain === undefined
  ) {
    throw new NodeError(`node id "${id}" has ${parts.length} parts, must be type~ip~name.namespace~domain`);
  }
  if (!proxyTypes.has(type)) throw new NodeError(`node id "${id}" has the unknown type "${type}"`);
  // It becomes part of names of several parts, a line each.
  if (/\s/.test(dnsDomain)) throw new NodeError(`node id ${JSON.stringify(id)} has white space in its domain`);
  const stated = metadataList(metadata, "INSTANCE_IPS").filter(isIpAddress);
  const ipAddresses = stated.length > 0 ? stated : [address].filter(isIpAddress);
  if (ipAddresses.length === 0)
    throw new NodeError(`node id "${id}" has no valid IP address, neither has INSTANCE_IPS`);
  const labels = metadataMap(metadata, "LABELS");
  const namespace = metadataText(metadata, "NAMESPACE") || namespaceOf(name);
  if (/[\s/|]/.test(namespace))
    throw new NodeError(`node id ${JSON.stringify(id)} has a namespace that is none: ${JSON.stringify(namespace)}`);
  return {
    id: name,
    type: type as ProxyType,
    generator: metadataText(metadata, "GENERATOR"),
    ipAddresses,
    namespace,
    dnsDomain,
    labels: { ...metadataMap(metadata, "STATIC_LABELS"), ...labels },
    locality: locality ?? { region: "", zone: "", subzone: "" },
    clusterId: metadataText(metadata, "CLUSTER_ID"),
    nodeCluster: cluster,
    network: metadataText(metadata, "NETWORK"),
    serviceAccount: metadataText(metadata, "SERVICE_ACCOUNT"),
    version: parseIstioVersion(metadataText(metadata, "ISTIO_VERSION")),
    extensions,
    metadata,
  };
}

function namespaceOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot === -1 ? "" : name.slice(dot + 1);
}

/** A Kubernetes Service as a service of the mesh. */
import {
  type Config,
  compareText,
  creationTimeMs,
  type Endpoint,
  isIpAddress,
  ownValue,
  type Protocol,
  parseProtocol,
  type Service,
  type ServicePort,
  serviceHostname,
} from "@flotilla/model";
import type { KubeNode, KubeService, KubeServicePort } from "../kube.ts";
import { spiffeId } from "./endpoint-traits.ts";
import type { SelectableWorkload } from "./workload-entry.ts";

/** The address of a service that has none of its own. */
export const unspecifiedAddress = "0.0.0.0";

/** Inputs of the conversion beside the Service object. */
export interface ServiceContext {
  readonly domain: string;
  readonly clusterId: string;
  readonly trustDomain: string;
  readonly namespaceAnnotations?: Readonly<Record<string, string>>;
  /** Read for Services of type NodePort that select the nodes through which they are reached. */
  readonly nodes?: Iterable<KubeNode>;
}

/**
 * The service of the mesh for a Service of any type; ports without a known protocol are `Unsupported`, which proxies
 * sniff.
 */
export function convertKubernetesService(service: KubeService, context: ServiceContext): Service {
  const { metadata, spec = {} } = service;
  const { name, namespace = "", annotations = {} } = metadata;
  const isAlias = spec.type === "ExternalName" && (spec.externalName ?? "") !== "";
  const headless = spec.clusterIP === "None";
  const vips = clusterVips(service);
  const distribution = trafficDistribution(spec.trafficDistribution, annotations, context.namespaceAnnotations);
  const external = externalAddresses(service, context);
  const nodePorts = nodeSelector(service) === undefined ? undefined : portMap(usablePorts(service));
  return {
    hostname: serviceHostname(name, namespace, context.domain),
    namespace,
    name,
    registry: "Kubernetes",
    ports: usablePorts(service).map(convertPort),
    resolution: isAlias ? "alias" : headless ? "passthrough" : "client-side",
    meshExternal: isAlias,
    defaultAddress: vips[0] ?? unspecifiedAddress,
    clusterVips: { [context.clusterId]: vips },
    creationTimeMs: creationTimeMs(service),
    labels: metadata.labels ?? {},
    ...(spec.selector === undefined || Object.keys(spec.selector).length === 0
      ? {}
      : { labelSelectors: spec.selector }),
    exportTo: exportTo(annotations["networking.istio.io/exportTo"]),
    serviceAccounts: serviceAccounts(annotations, namespace, context.trustDomain),
    kubernetes: kubernetesTraits(service, headless),
    ...(external.length === 0 ? {} : { clusterExternalAddresses: { [context.clusterId]: external } }),
    ...(nodePorts === undefined ? {} : { clusterExternalPorts: { [context.clusterId]: nodePorts } }),
    ...(distribution === undefined ? {} : { trafficDistribution: distribution }),
    definedBy: `Service/${namespace}/${name}`,
    ...(metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
  };
}

/** Ports outside of 1…65535 are left out; the caller reports them. */
export function isValidPort({ port }: { readonly port?: number }): boolean {
  return Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65535;
}

/** The fields of a Service's port that are no ports: it is left out. An API server refuses such a Service, a file does not. */
export function wrongPortFields({ port, targetPort = 0, nodePort = 0 }: KubeServicePort): readonly WrongPort[] {
  const target = typeof targetPort === "number" || /^\d+$/.test(targetPort) ? Number(targetPort) : 0;
  const fields: readonly WrongPort[] = [
    { field: "", value: port },
    ...(target === 0 ? [] : [{ field: ".targetPort", value: target }]),
    ...(nodePort === 0 ? [] : [{ field: ".nodePort", value: nodePort }]),
  ];
  return fields.filter(({ value }) => !isValidPort({ port: value }));
}

/** `field` is behind that of the port. */
interface WrongPort {
  readonly field: string;
  readonly value: number;
}

function usablePorts({ spec = {} }: KubeService): readonly KubeServicePort[] {
  return (spec.ports ?? []).filter((port) => wrongPortFields(port).length === 0);
}

function convertPort(port: KubeServicePort): ServicePort {
  return { name: port.name ?? "", number: port.port, protocol: portProtocol(port) };
}

function clusterVips({ spec = {} }: KubeService): readonly string[] {
  if (spec.clusterIP === undefined || spec.clusterIP === "" || spec.clusterIP === "None") return [unspecifiedAddress];
  const all = spec.clusterIPs !== undefined && spec.clusterIPs.length > 1 ? spec.clusterIPs : [spec.clusterIP];
  const usable = all.filter(isIpAddress);
  return usable.length > 0 ? usable : [unspecifiedAddress];
}

function exportTo(annotation: string | undefined): readonly string[] {
  if (annotation === undefined || annotation === "") return [];
  return [...new Set(annotation.split(",").map((part) => part.trim()))].sort();
}

function serviceAccounts(
  annotations: Readonly<Record<string, string>>,
  namespace: string,
  trustDomain: string,
): readonly string[] {
  const canonical = annotations["alpha.istio.io/canonical-serviceaccounts"] ?? "";
  const local = annotations["alpha.istio.io/kubernetes-serviceaccounts"] ?? "";
  return [
    ...(canonical === "" ? [] : canonical.split(",")),
    ...(local === "" ? [] : local.split(",").map((account) => spiffeId(trustDomain, namespace, account))),
  ];
}

/** The share of a second waypoint's load, whose name stands in a label; of a Service or its namespace. */
export const waypointShareAnnotation = "istio.io/use-waypoint-canary-weight";
const readAnnotations = [waypointShareAnnotation];

function kubernetesTraits(service: KubeService, headless: boolean): NonNullable<Service["kubernetes"]> {
  const { metadata, spec = {} } = service;
  const targets = usablePorts(service)
    .filter((port) => port.targetPort !== undefined && port.targetPort !== 0)
    .map((port) => [port.port, String(port.targetPort)] as const);
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => readAnnotations.includes(name));
  return {
    type: spec.type ?? "",
    ...(spec.type === "ExternalName" && spec.externalName ? { externalName: spec.externalName } : {}),
    nodeLocal: spec.internalTrafficPolicy === "Local",
    publishNotReadyAddresses: spec.publishNotReadyAddresses ?? false,
    headless,
    ...(spec.externalTrafficPolicy === "Local" ? { externalTrafficPolicyLocal: true } : {}),
    targetPorts: Object.fromEntries(targets),
    ...(spec.ipFamilies === undefined ? {} : { ipFamilies: spec.ipFamilies }),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
  };
}

/** Load balancer addresses, then external IPs, then the nodes' addresses where the Service asks for them. */
function externalAddresses(service: KubeService, { nodes = [] }: ServiceContext): readonly string[] {
  const ingress = service.spec?.type === "LoadBalancer" ? (service.status?.loadBalancer?.ingress ?? []) : [];
  const balancer = ingress
    .map(({ ip = "", hostname = "" }) => (isIpAddress(ip) ? ip : hostname))
    .filter((address) => address !== "");
  const selector = nodeSelector(service);
  const ofNodes = selector === undefined ? [] : nodeAddresses(nodes, selector);
  return [...balancer, ...(service.spec?.externalIPs ?? []).filter(isIpAddress), ...ofNodes];
}

/** Undefined unless the Service is of type NodePort with the annotation; source: Istio's annotation reference. */
function nodeSelector(service: KubeService): Readonly<Record<string, string>> | undefined {
  const text = service.metadata.annotations?.["traffic.istio.io/nodeSelector"];
  if (service.spec?.type !== "NodePort" || text === undefined) return undefined;
  try {
    const value: unknown = text === "" ? {} : JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, string>) : undefined;
  } catch {
    // Not JSON: as without the annotation; `serviceProblems` reports it.
    return undefined;
  }
}

function nodeAddresses(nodes: Iterable<KubeNode>, selector: Readonly<Record<string, string>>): readonly string[] {
  const addresses: string[] = [];
  for (const { metadata, status } of nodes) {
    const labels = metadata.labels ?? {};
    if (!Object.entries(selector).every(([key, value]) => ownValue(labels, key) === value)) continue;
    const found = status?.addresses?.find(({ type, address }) => type === "ExternalIP" && address !== "");
    if (found !== undefined) addresses.push(found.address);
  }
  return addresses.sort();
}

function portMap(ports: readonly KubeServicePort[]): Readonly<Record<number, number>> {
  return Object.fromEntries(ports.map((port) => [port.port, port.nodePort ?? 0]));
}

/** Values of appProtocol that Kubernetes itself defines. */
const standardProtocols: ReadonlyMap<string, Protocol> = new Map([
  ["kubernetes.io/h2c", "HTTP2"],
  ["kubernetes.io/ws", "HTTP"],
  ["kubernetes.io/wss", "HTTPS"],
]);

/** SMTP, DNS, MySQL, MongoDB: their servers speak first, so a proxy that waits to sniff would stall them. */
const serverFirstPorts: ReadonlySet<number> = new Set([25, 53, 3306, 27017]);

/** The fields of a Service port that its protocol depends on. */
export interface PortTraits {
  readonly port: number;
  readonly name?: string;
  /** The transport: TCP, UDP or SCTP. */
  readonly protocol?: string;
  readonly appProtocol?: string;
}

/** The application protocol that a Kubernetes Service port carries. Source: Istio's protocol selection page. */
export function portProtocol({ port, name = "", protocol, appProtocol }: PortTraits): Protocol {
  if (protocol === "UDP") return "UDP";
  const standard = appProtocol === undefined ? undefined : standardProtocols.get(appProtocol);
  if (standard !== undefined) return standard;
  const text = appProtocol ?? name;
  if (/^grpc-web/i.test(text)) return "GRPC-Web";
  const [prefix = ""] = text.split("-", 1);
  const found = parseProtocol(prefix);
  return found === "Unsupported" && serverFirstPorts.has(port) ? "TCP" : found;
}

const annotation = "networking.istio.io/traffic-distribution";
type Distribution = NonNullable<Service["trafficDistribution"]>;
type Annotations = Readonly<Record<string, string>>;

const byName: ReadonlyMap<string, Distribution> = new Map([
  ["preferclose", "PreferSameZone"],
  ["prefersamezone", "PreferSameZone"],
  ["prefersamenode", "PreferSameNode"],
]);

/** The field of the Service wins over its annotation, and that over the annotation of its namespace. */
export function trafficDistribution(
  field: string | undefined,
  own: Annotations = {},
  ofNamespace: Annotations = {},
): Distribution | undefined {
  return (
    byName.get(field?.toLowerCase() ?? "") ??
    byName.get((own[annotation] || ofNamespace[annotation] || "").toLowerCase())
  );
}

/**
 * A Service under the host it has in the whole cluster set. Undefined for headless imports: without an address of the cluster set there is
 * nothing to call. Source: scenario locality/mcs-hosts.
 */
export function importedService(
  service: Service,
  serviceImport: Config,
  hostname: string,
  clusterId: string,
): Service | undefined {
  const addresses = clusterSetAddresses(serviceImport);
  const [first] = addresses;
  if (first === undefined) return undefined;
  return { ...service, hostname, defaultAddress: first, clusterVips: { [clusterId]: addresses } };
}

/** In order of text, as istiod has them; an invalid address is one of the registry's problems. */
export function clusterSetAddresses({ spec }: Config): readonly string[] {
  const { ips = [] } = spec as { readonly ips?: readonly string[] };
  return ips.filter((ip) => isIpAddress(ip)).toSorted(compareText);
}

/** The endpoints that a Kubernetes Service gets from the WorkloadEntries its selector matches. */
export function selectedByService(
  { workload, addresses, weight, ports, definedBy }: SelectableWorkload,
  service: Service,
): readonly Endpoint[] {
  return service.ports.flatMap(({ name, number }) => {
    const target = service.kubernetes?.targetPorts[number];
    const numeric = target === undefined ? number : Number(target);
    // A target port by name is a promise that the workload has a port of that name.
    const port = Number.isNaN(numeric) ? ownValue(ports, target ?? "") : (ownValue(ports, name) ?? numeric);
    if (port === undefined || port === 0) return [];
    return [{ ...workload, addresses, weight, servicePortName: name, port, health: "unknown" as const, definedBy }];
  });
}

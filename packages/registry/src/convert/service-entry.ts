/** A ServiceEntry as services of the mesh, one for each host. */
import {
  type Config,
  canonicalName,
  canonicalNameLabel,
  canonicalRevision,
  canonicalRevisionLabel,
  isIpAddress,
  isObject,
  objectsOf,
  ownValue,
  parseCidr,
  parseProtocol,
  type Resolution,
  type Service,
  takesAllocatedAddress,
} from "@flotilla/model";
import type { ServiceEntryPort, ServiceEntrySpec } from "../kube.ts";
import { isValidPort, trafficDistribution, unspecifiedAddress } from "./kubernetes-service.ts";

/** Inputs of the conversion beside the ServiceEntry. */
export interface ServiceEntryContext {
  readonly namespaceAnnotations?: Readonly<Record<string, string>>;
  /** Services outside of the mesh get canonical-name labels. */
  readonly canonicalExternalServices: boolean;
  /** Addresses that a controller gave the entry count; istiod looks at them only where it gives them itself. */
  readonly statusAddresses: boolean;
}

const resolutions: Readonly<Record<NonNullable<ServiceEntrySpec["resolution"]>, Resolution>> = {
  NONE: "passthrough",
  STATIC: "client-side",
  DNS: "dns",
  DNS_ROUND_ROBIN: "dns-round-robin",
  DYNAMIC_DNS: "dynamic-dns",
};

/** The services of a ServiceEntry, one for each host and address that it names. */
export function convertServiceEntry(entry: Config, context: ServiceEntryContext): readonly Service[] {
  const spec = entry.spec as ServiceEntrySpec;
  const { name, namespace } = entry.key;
  const meshExternal = spec.location !== "MESH_INTERNAL";
  const distribution = trafficDistribution(undefined, entry.annotations, context.namespaceAnnotations);
  const labels = meshExternal && context.canonicalExternalServices ? canonicalLabels(entry) : entry.labels;
  const addresses = (spec.addresses ?? []).flatMap(normalAddress);
  // Addresses that are all wrong leave a service that nothing can be routed to by address, as in Istio.
  if (addresses.length === 0 && (spec.addresses ?? []).length > 0) return [];
  const common = {
    namespace,
    name,
    registry: "External",
    ports: (spec.ports ?? []).filter(({ number }) => isValidPort({ port: number })).map(convertEntryPort),
    resolution: resolutions[spec.resolution ?? "NONE"],
    meshExternal,
    defaultAddress: addresses[0] ?? unspecifiedAddress,
    clusterVips: {},
    ...(addresses.length > 1 ? { addresses } : {}),
    creationTimeMs: entry.creationTimeMs,
    labels,
    ...(spec.workloadSelector === undefined ? {} : { labelSelectors: spec.workloadSelector.labels ?? {} }),
    exportTo: [...new Set(spec.exportTo ?? [])].sort(),
    serviceAccounts: spec.subjectAltNames ?? [],
    ...passthroughTargetPorts(spec),
    ...(distribution === undefined ? {} : { trafficDistribution: distribution }),
    ...(racesConnections(entry) ? { racesConnections: true } : {}),
    definedBy: `ServiceEntry/${namespace}/${name}`,
    ...(entry.resourceVersion === undefined ? {} : { resourceVersion: entry.resourceVersion }),
  } as const satisfies Omit<Service, "hostname">;
  const hosts = [...new Set(spec.hosts ?? [])];
  return hosts.map((hostname) => ({
    hostname,
    ...common,
    ...(context.statusAddresses ? statusAddresses(entry, spec, hostname) : {}),
  }));
}

/** True where callers connect to all addresses of a name at once. */
function racesConnections({ annotations }: Config): boolean {
  return ownValue(annotations, "istio.io/connect-strategy")?.toUpperCase() === "RACE_FIRST_TCP_CONNECT";
}

/** Elsewhere the endpoints have them. */
function passthroughTargetPorts({ ports = [], resolution = "NONE" }: ServiceEntrySpec) {
  const targets = ports.flatMap(({ number, targetPort = 0 }) =>
    targetPort > 0 ? [[number, targetPort] as const] : [],
  );
  return resolution === "NONE" && targets.length > 0 ? { passthroughTargetPorts: Object.fromEntries(targets) } : {};
}

function convertEntryPort({ name = "", number, protocol = "" }: ServiceEntryPort): Service["ports"][number] {
  return { name, number, protocol: parseProtocol(protocol) };
}

/** Does the service take part in automatic allocation? Without load balancing the caller's address would be lost. */
export function needsAddress({ defaultAddress, resolution }: Service): boolean {
  return defaultAddress === unspecifiedAddress && resolution !== "passthrough";
}

/** A range of one address is that address; other texts are left out. */
function normalAddress(text: string): readonly string[] {
  if (isIpAddress(text)) return [text];
  const range = parseCidr(text);
  if (range === undefined) return [];
  return range.length === (range.address.includes(":") ? 128 : 32) ? [range.address] : [text];
}

/** Addresses that a controller gave the entry; source: `status.addresses` of the ServiceEntry reference. */
function statusAddresses(
  entry: Config,
  { addresses = [], resolution = "NONE" }: ServiceEntrySpec,
  hostname: string,
): Pick<Service, "autoAllocatedIpv4" | "autoAllocatedIpv6"> {
  if (addresses.length > 0 || resolution === "NONE") return {};
  if (!takesAllocatedAddress(entry.labels, hostname, resolution === "DYNAMIC_DNS")) return {};
  // No schema holds for a status.
  const mine = objectsOf(isObject(entry.status) ? entry.status["addresses"] : undefined)
    .filter(({ host = "" }) => host === "" || host === hostname)
    .flatMap(({ value }) => (typeof value === "string" && isIpAddress(value) ? [value] : []));
  const ipv4 = mine.find((address) => address.includes("."));
  const ipv6 = mine.find((address) => !address.includes("."));
  return {
    ...(ipv4 === undefined ? {} : { autoAllocatedIpv4: ipv4 }),
    ...(ipv6 === undefined ? {} : { autoAllocatedIpv6: ipv6 }),
  };
}

function canonicalLabels({ key, labels }: Config): Readonly<Record<string, string>> {
  return {
    ...labels,
    [canonicalNameLabel]: canonicalName(labels, key.name),
    [canonicalRevisionLabel]: canonicalRevision(labels),
  };
}

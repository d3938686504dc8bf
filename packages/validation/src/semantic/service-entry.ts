/** ServiceEntries: hosts, ports and endpoints, as the resolution asks for them. A host name among fixed addresses costs all endpoints. */
import { isHttp, isTcp, isTls, parseProtocol } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import {
  type Field,
  field,
  isSet,
  items,
  numberOf,
  refuseIf,
  repeated,
  textOf,
  texts,
  warnIf,
} from "./shared/field.ts";
import type { ObjectMetadata } from "./shared/metadata.ts";
import {
  exportToProblems,
  hostReason,
  isPartialWildcard,
  portNameProblems,
  protocolProblems,
  quoted,
  wildcardHostProblems,
} from "./shared/names.ts";
import { selectorProblems } from "./shared/selectors.ts";
import { subjectNameProblems } from "./shared/traffic-policy.ts";
import { portProblems, rangeProblems } from "./shared/values.ts";
import { workloadProblems } from "./workload-entry.ts";

export function validateServiceEntry(spec: Field, metadata: ObjectMetadata): readonly Problem[] {
  const selector = field(spec, "workloadSelector");
  const endpoints = field(spec, "endpoints");
  return [
    ...selectorProblems(selector, "labels"),
    ...refuseIf(isSet(selector) && isSet(endpoints), endpoints, "must not be set beside workloadSelector"),
    ...hostsProblems(spec),
    ...texts(spec, "addresses").flatMap(rangeProblems),
    ...portsProblems(spec, metadata),
    ...resolutionProblems(spec, metadata),
    ...sharedPortProblems(spec),
    ...subjectNameProblems(spec),
    ...exportToProblems(spec, metadata.namespace, true),
  ];
}

const resolutionOf = (spec: Field) => textOf(field(spec, "resolution")) || "NONE";

function hostsProblems(spec: Field): readonly Problem[] {
  const hosts = texts(spec, "hosts");
  const isDynamic = resolutionOf(spec) === "DYNAMIC_DNS";
  return [
    ...refuseIf(hosts.length === 0, field(spec, "hosts"), "a ServiceEntry has at least one host"),
    ...hosts.flatMap((host) => [
      ...refuseIf(host.value === "*", host, "* would be every host"),
      ...wildcardHostProblems(host),
      ...warnIf(
        isPartialWildcard(host.value) && !isDynamic,
        host,
        `${quoted(host.value)}: a wildcard is a whole label, as in *.example.com`,
      ),
    ]),
  ];
}

const autoAllocation = "networking.istio.io/enable-autoallocate-ip";

function portsProblems(spec: Field, { labels }: ObjectMetadata): readonly Problem[] {
  const ports = items(spec, "ports");
  const isAllocated = resolutionOf(spec) !== "NONE" && labels.get(autoAllocation)?.toLowerCase() !== "false";
  const needsAddress = texts(spec, "addresses").length === 0 && !isAllocated;
  const numbers = ports.map((port) => field(port, "number"));
  const names = ports.map((port) => field(port, "name"));
  return [
    ...repeated(names, textOf).flatMap((name) => refuseIf(true, name, `port ${quoted(textOf(name))} is defined twice`)),
    ...repeated(numbers, (number) => String(numberOf(number))).flatMap((number) =>
      refuseIf(true, number, `port ${numberOf(number)} is defined twice`),
    ),
    ...ports.flatMap((port) => {
      const target = field(port, "targetPort");
      const protocol = field(port, "protocol");
      return [
        ...(numberOf(target) === 0 ? [] : portProblems(target)),
        ...warnIf(
          needsAddress && ["", "TCP"].includes(textOf(protocol)),
          protocol,
          "traffic of TCP is assigned by address, and the entry has none",
        ),
        ...portNameProblems(field(port, "name")),
        ...protocolProblems(protocol),
        ...portProblems(field(port, "number")),
      ];
    }),
  ];
}

function resolutionProblems(spec: Field, metadata: ObjectMetadata): readonly Problem[] {
  const resolution = resolutionOf(spec);
  const endpoints = items(spec, "endpoints");
  const ports = new Set(items(spec, "ports").map((port) => textOf(field(port, "name"))));
  const range = texts(spec, "addresses").find(({ value }) => value.includes("/"));
  const rangeProblem =
    range === undefined
      ? []
      : refuseIf(true, range, `ranges are for resolution NONE and STATIC, not for ${resolution}`);
  if (resolution === "STATIC") return endpoints.flatMap((endpoint) => workloadProblems(endpoint, "address", ports));
  if (resolution === "DNS" || resolution === "DNS_ROUND_ROBIN")
    return [...rangeProblem, ...dnsProblems(spec, resolution, endpoints, ports)];
  if (resolution === "DYNAMIC_DNS") return [...rangeProblem, ...dynamicProblems(spec, metadata)];
  const selector = field(spec, "workloadSelector");
  return [
    ...refuseIf(endpoints.length > 0, field(spec, "endpoints"), "resolution NONE has no endpoints"),
    ...warnIf(isSet(selector), selector, "has no effect with resolution NONE"),
  ];
}

function dnsProblems(
  spec: Field,
  resolution: string,
  endpoints: readonly Field[],
  ports: ReadonlySet<string>,
): readonly Problem[] {
  const hosts = texts(spec, "hosts");
  const isTcpService = items(spec, "ports").some((port) => isTcp(parseProtocol(textOf(field(port, "protocol")))));
  const unresolvable =
    endpoints.length > 0 ? [] : hosts.filter(({ value }) => value !== "*" && hostReason(value) !== undefined);
  return [
    ...unresolvable.flatMap((host) => refuseIf(true, host, "cannot be resolved, name endpoints")),
    ...refuseIf(
      resolution === "DNS_ROUND_ROBIN" && endpoints.length > 1,
      field(spec, "endpoints"),
      "resolution DNS_ROUND_ROBIN has one endpoint at most",
    ),
    ...endpoints.flatMap((endpoint) => workloadProblems(endpoint, "resolved", ports)),
    ...warnIf(
      isTcpService && hosts.length > 1 && texts(spec, "addresses").length > 0,
      field(spec, "hosts"),
      "traffic of TCP to an address cannot be assigned to one of several hosts: name one host",
    ),
  ];
}

const dynamicProtocols: readonly string[] = ["HTTP", "HTTP2", "GRPC", "TLS"];

/** Names that clients ask for are resolved when they do. */
function dynamicProblems(spec: Field, { labels }: ObjectMetadata): readonly Problem[] {
  const waypoint = (labels.get("istio.io/use-waypoint") ?? "").toLowerCase();
  const location = field(spec, "location");
  const isInternal = textOf(location) === "MESH_INTERNAL";
  return [
    ...texts(spec, "hosts").flatMap((host) =>
      refuseIf(!host.value.startsWith("*"), host, "resolution DYNAMIC_DNS is for hosts with a wildcard"),
    ),
    ...["addresses", "endpoints"].flatMap((name) =>
      refuseIf(items(spec, name).length > 0, field(spec, name), "must not be set with resolution DYNAMIC_DNS"),
    ),
    ...items(spec, "ports")
      .map((port) => field(port, "protocol"))
      .flatMap((protocol) =>
        refuseIf(
          !dynamicProtocols.includes(parseProtocol(textOf(protocol))),
          protocol,
          `resolution DYNAMIC_DNS is for ${dynamicProtocols.join(", ")}`,
        ),
      ),
    ...refuseIf(
      isInternal && waypoint !== "" && waypoint !== "none",
      location,
      "MESH_INTERNAL with resolution DYNAMIC_DNS cannot have a waypoint",
    ),
  ];
}

/** Hosts that share a port are distinguished by what a request names, which takes HTTP or TLS. */
function sharedPortProblems(spec: Field): readonly Problem[] {
  if (resolutionOf(spec) === "NONE" || texts(spec, "hosts").length < 2) return [];
  return items(spec, "ports")
    .map((port) => field(port, "protocol"))
    .filter((protocol) => {
      const known = parseProtocol(textOf(protocol));
      return !isHttp(known) && !isTls(known);
    })
    .slice(0, 1)
    .flatMap((protocol) => refuseIf(true, protocol, "several hosts can share ports of HTTP and TLS only"));
}

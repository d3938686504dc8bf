/** The listener within tunnels: each service behind the waypoint has filter chains by its ports, workloads themselves have two. */
import { compareText, isHttp, isTls, isUnsupported, isWildcard, type Protocol, type Service } from "@flotilla/model";
import { create } from "@flotilla/proto";
import type { AccessLog } from "@flotilla/proto/envoy/config/accesslog/v3/accesslog_pb";
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { FilterChain } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { serviceText } from "../../../snapshot/row-index.ts";
import { isEastWestGateway } from "../../../snapshot/scope/east-west.ts";
import { telemetryScope } from "../../../snapshot/scope/telemetry.ts";
import {
  globalVipsOf,
  vipsOf,
  waypointServices,
  waypointWorkloadAddresses,
} from "../../../snapshot/scope/waypoint-services.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { httpInspector, originalDestination, tlsInspector } from "../../envoy/listeners/listener-filters.ts";
import { accessLogs } from "../../select/access-log.ts";
import { directFilterChains, serviceFilterChains } from "./chains.ts";
import { passedOn, passingChains } from "./east-west.ts";
import { authorityMatcher, type MatchedService, type MatchedWorkload, vipMatcher } from "./vip-matcher.ts";

export interface MainInternalInputs {
  readonly kind: "main-internal";
  readonly services: readonly MatchedService[];
  readonly workloads: readonly MatchedWorkload[];
  readonly chains: readonly FilterChain[];
  readonly accessLog: readonly AccessLog[];
  /** Tunnels name hosts: the mesh has several networks. */
  readonly hasHosts: boolean;
}

export function selectMainInternal(view: View): MainInternalInputs {
  return {
    kind: "main-internal",
    services: view.read(matchedServices),
    workloads: view.read(matchedWorkloads),
    chains: view.read(isEastWestGateway(view) ? passingChains : allChains),
    accessLog: view.read(accessLogs, telemetryScope("inbound")).listener,
    hasHosts: view.feature("ambientMultiNetwork"),
  };
}

const allChains = query<readonly FilterChain[]>("waypoint-filter-chains", (view) => [
  ...view.read(waypointServices).flatMap((service) => view.read(serviceFilterChains, serviceText.write(service))),
  ...view.read(directFilterChains),
]);

const matchedServices = query<readonly MatchedService[]>(
  "waypoint-matched-services",
  (view) =>
    view.read(waypointServices).map((service) => {
      // In the order of their texts, as in istiod.
      const vips = [...new Set([...vipsOf(view, service), ...globalVipsOf(view, service)])].sort(compareText);
      return {
        ...{ hostname: service.hostname, vips: vips.length === 0 ? ["0.0.0.0"] : vips, ports: matchedPorts(service) },
        ...(isEastWestGateway(view) && { passedOn: passedOn(view, service) }),
      };
    }),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** Below a wildcard a host is known by requests and server names only, and the latter are not looked at here. */
function matchedPorts({ hostname, resolution, ports }: Service): Service["ports"] {
  const isOpen = resolution === "dynamic-dns" && isWildcard(hostname);
  return isOpen ? ports.filter(({ protocol }) => !isTls(protocol)) : ports;
}

const matchedWorkloads = query<readonly MatchedWorkload[]>(
  "waypoint-matched-workloads",
  (view) => view.read(waypointWorkloadAddresses).map((address) => ({ address })),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

export function buildMainInternal(inputs: MainInternalInputs): Listener {
  const { services, workloads, chains, accessLog, hasHosts } = inputs;
  const byAddress = vipMatcher(services, workloads);
  return create(ListenerSchema, {
    name: "main_internal",
    trafficDirection: TrafficDirection.INBOUND,
    accessLog: [...accessLog],
    listenerSpecifier: { case: "internalListener", value: {} },
    listenerFilters: [originalDestination, ...inspectors(services, workloads)],
    filterChainMatcher: hasHosts ? authorityMatcher(services, byAddress) : byAddress,
    filterChains: [...chains],
  });
}

/** The first bytes are looked at where a port of some service leaves open what comes, and of workloads themselves on any port. */
function inspectors(
  services: readonly MatchedService[],
  workloads: readonly MatchedWorkload[],
): Listener["listenerFilters"] {
  const ports = Map.groupBy(
    services.flatMap((service) => service.ports),
    ({ number }) => number,
  );
  const numbers = [...ports.keys()].sort((a, b) => a - b);
  // Tunnels that are passed on are connections, whatever they carry.
  const passes = services.some((service) => service.passedOn !== undefined);
  const kindOfPort = (protocol: Protocol) => (passes && protocol !== "UDP" ? "tcp" : kindOf(protocol));
  const kindsOf = (number: number) => new Set(ports.get(number)?.map(({ protocol }) => kindOfPort(protocol)));
  const isSure = (number: number) => kindsOf(number).size === 1 && !kindsOf(number).has("unknown");
  const hasTls = (number: number) => ports.get(number)?.some(({ protocol }) => isTls(protocol)) ?? false;
  return [
    httpInspector({ skipPorts: workloads.length > 0 ? [] : numbers.filter(isSure) }),
    ...(numbers.some(hasTls) ? [tlsInspector({ skipPorts: numbers.filter((number) => !hasTls(number)) })] : []),
  ];
}

function kindOf(protocol: Protocol): "http" | "tcp" | "unknown" {
  if (isUnsupported(protocol) || protocol === "UDP") return "unknown";
  return isHttp(protocol) ? "http" : "tcp";
}

/** Facts as messages of ztunnel's API. Source: `istio.workload`. */
import { addressNumber, compareText, type Protocol } from "@flotilla/model";
import { create, type MessageInitShape } from "@flotilla/proto";
import {
  type Address,
  AddressSchema,
  ApplicationTunnel_Protocol,
  AppProtocol,
  type GatewayAddress,
  GatewayAddressSchema,
  IPFamilies,
  LoadBalancing_HealthPolicy,
  LoadBalancing_Mode,
  LoadBalancing_Scope,
  NetworkMode,
  type PortSchema,
  type Service,
  Service_Visibility,
  ServiceSchema,
  TunnelProtocol,
  type Workload,
  WorkloadSchema,
  WorkloadStatus,
  WorkloadType,
} from "@flotilla/proto/istio/workload/workload_pb";
import type { GatewayFacts, NetworkRange, ServiceFacts, WorkloadFacts } from "./facts.ts";
import type { InboundBinding } from "./waypoint.ts";

/** The bytes of an address: 4 or 16. @throws RangeError for what is none */
export function addressBytes(address: string): Uint8Array {
  const number = addressNumber(address);
  if (number === undefined) throw new RangeError(`"${address}" is no IP address`);
  const length = address.includes(":") ? 16 : 4;
  return Uint8Array.from({ length }, (_, i) => Number((number >> BigInt(8 * (length - 1 - i))) & 255n));
}

export function serviceAddress(facts: ServiceFacts): Address {
  return create(AddressSchema, { type: { case: "service", value: serviceMessage(facts) } });
}

export function workloadAddress(facts: WorkloadFacts): Address {
  return create(AddressSchema, { type: { case: "workload", value: workloadMessage(facts) } });
}

function serviceMessage(facts: ServiceFacts): Service {
  const { waypoint, loadBalancing, weightedWaypoints = [] } = facts;
  return create(ServiceSchema, {
    name: facts.name,
    namespace: facts.namespace,
    hostname: facts.hostname,
    addresses: facts.addresses.map(networkAddress),
    ports: facts.ports.map(({ number, protocol, target = 0 }) => ({
      servicePort: number,
      targetPort: target,
      appProtocol: appProtocols[protocol] ?? AppProtocol.UNKNOWN,
    })),
    subjectAltNames: [...facts.subjectAltNames],
    ...(waypoint === undefined ? {} : { waypoint: gatewayAddress(waypoint) }),
    ...(loadBalancing === undefined
      ? {}
      : {
          loadBalancing: {
            mode: LoadBalancing_Mode[loadBalancing.mode],
            routingPreference: loadBalancing.scopes.map((scope) => LoadBalancing_Scope[scope]),
            healthPolicy: loadBalancing.allowsUnhealthy
              ? LoadBalancing_HealthPolicy.ALLOW_ALL
              : LoadBalancing_HealthPolicy.ONLY_HEALTHY,
          },
        }),
    ipFamilies: ipFamilies(facts.ipFamilies),
    canonical: facts.isCanonical,
    ingressUseWaypoint: facts.ingressUsesWaypoint,
    weightedWaypoints: weightedWaypoints.map((one) => ({ destination: gatewayAddress(one), weight: one.weight })),
    visibility: facts.namespaceOnly ? Service_Visibility.NAMESPACE : Service_Visibility.PUBLIC,
  });
}

const appProtocols: Readonly<Partial<Record<Protocol, AppProtocol>>> = {
  HTTP: AppProtocol.HTTP11,
  HTTP2: AppProtocol.HTTP2,
  GRPC: AppProtocol.GRPC,
  TCP: AppProtocol.TCP,
  TLS: AppProtocol.TLS,
  HTTPS: AppProtocol.TLS,
};

function ipFamilies(families: readonly string[]): IPFamilies {
  const [v4, v6] = [families.includes("IPv4"), families.includes("IPv6")];
  if (v4 && v6) return IPFamilies.DUAL;
  if (v4) return IPFamilies.IPV4_ONLY;
  return v6 ? IPFamilies.IPV6_ONLY : IPFamilies.AUTOMATIC;
}

function networkAddress({ network, address, length }: NetworkRange) {
  return { network, address: addressBytes(address), ...(length === undefined ? {} : { length }) };
}

/** The way to a waypoint or to the gateway of a network. */
function gatewayAddress({ destination, port }: GatewayFacts): GatewayAddress {
  return create(GatewayAddressSchema, {
    destination:
      "hostname" in destination
        ? { case: "hostname", value: destination }
        : { case: "address", value: networkAddress(destination) },
    hboneMtlsPort: port,
  });
}

export function workloadMessage(facts: WorkloadFacts): Workload {
  const { tunnel, waypoint, networkGateway, applicationTunnel, locality, capacity } = facts;
  const services = facts.services.toSorted((a, b) => compareText(nameOf(a), nameOf(b)));
  return create(WorkloadSchema, {
    uid: facts.uid,
    name: facts.name,
    namespace: facts.namespace,
    addresses: facts.addresses.map(addressBytes),
    hostname: facts.hostname,
    network: facts.network,
    tunnelProtocol: tunnel === "none" ? TunnelProtocol.NONE : TunnelProtocol.HBONE,
    nativeTunnel: tunnel === "native",
    trustDomain: facts.trustDomain,
    serviceAccount: facts.serviceAccount,
    ...(waypoint === undefined ? {} : { waypoint: gatewayAddress(waypoint) }),
    ...(networkGateway === undefined ? {} : { networkGateway: gatewayAddress(networkGateway) }),
    node: facts.node,
    canonicalName: facts.canonicalName,
    canonicalRevision: facts.canonicalRevision,
    workloadType: facts.isPod ? WorkloadType.POD : WorkloadType.DEPLOYMENT,
    workloadName: facts.workloadName,
    ...(applicationTunnel === undefined ? {} : { applicationTunnel: tunnelMessage(applicationTunnel) }),
    services: Object.fromEntries(services.map((one) => [nameOf(one), { ports: one.ports.map(servedPort) }])),
    authorizationPolicies: [...facts.policies],
    status: facts.isHealthy ? WorkloadStatus.HEALTHY : WorkloadStatus.UNHEALTHY,
    clusterId: facts.clusterId,
    ...(locality === undefined ? {} : { locality }),
    networkMode: facts.hostNetwork ? NetworkMode.HOST_NETWORK : NetworkMode.STANDARD,
    ...(capacity === undefined ? {} : { capacity }),
  });
}

function servedPort({
  servicePort,
  targetPort,
  protocol,
}: WorkloadFacts["services"][number]["ports"][number]): MessageInitShape<typeof PortSchema> {
  if (protocol === undefined) return { servicePort, targetPort };
  return { servicePort, targetPort, appProtocol: appProtocols[protocol] ?? AppProtocol.UNKNOWN };
}

function nameOf({ namespace, hostname }: { readonly namespace: string; readonly hostname: string }): string {
  return `${namespace}/${hostname}`;
}

function tunnelMessage({ protocol, port }: InboundBinding) {
  return { protocol: ApplicationTunnel_Protocol[protocol], port };
}

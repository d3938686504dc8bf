/** The outbound listeners of a sidecar: one an address and port that it may call. */
import {
  type Config,
  isHttp,
  isIpAddress,
  isTcp,
  isUnsupported,
  parseProtocol,
  type Service,
  type ServicePort,
} from "@flotilla/model";
import { CaptureMode, type IstioEgressListener } from "@flotilla/proto/networking/v1alpha3/sidecar_pb";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { type EgressListener, type ListenerName, proxyEgressListeners } from "../../../snapshot/scope/sidecar.ts";
import { importedAliases, listenerServices } from "../../../snapshot/scope/sidecar-scope.ts";
import { layer4VirtualServices, meshGateway } from "../../../snapshot/scope/virtual-services.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { resolvedFamilies } from "../../select/dns.ts";
import { listenerTraits } from "../../select/listener-traits.ts";
import {
  furtherAddresses,
  isUnspecified,
  ownAddresses,
  podAddresses,
  serviceAddress,
  serviceAddresses,
} from "../../select/service-address.ts";
import { capturesNothing } from "../inbound/inbound-ports.ts";
import { mayListenBesideVirtual } from "../reserved-ports.ts";
import { ListenerMap, listenerName } from "./listener-map.ts";
import type { OutboundListenerPlan } from "./plan.ts";
import { tcpChains } from "./tcp-chains.ts";

/** Every outbound listener by name. */
export const outboundListeners = query<ReadonlyMap<string, OutboundListenerPlan>>("outbound-listeners", (view) => {
  const map = new ListenerMap(view);
  for (const listener of proxyEgressListeners(view)) {
    if (hasPort(listener.spec)) {
      addOwnListener(view, map, listener);
      continue;
    }
    map.lock();
    addServicePorts(view, map, listener);
  }
  const plans = [...map.plans(), ...forwardProxy(view)];
  return new Map(plans.map((plan) => [plan.name, plan]));
});

/** Where the workload itself calls the sidecar as an HTTP proxy: at a port its metadata or the mesh names. */
function forwardProxy(view: View): readonly OutboundListenerPlan[] {
  const port = Number(view.proxy.metadataText("HTTP_PROXY_PORT")) || view.mesh.proxyHttpPort;
  if (port === 0) return [];
  const { loopbackAddress: bind, extraLoopbacks: extraAddresses } = view.read(listenerTraits);
  const chain = { carries: "http", sniffed: false, routeName: "http_proxy", grpcWeb: false } as const;
  const place = { bind, port, bindToPort: true, extraAddresses };
  return [{ name: listenerName(bind, port), ...place, chains: [chain] }];
}

/** One listener's plan; equal plans go no further. */
export const outboundListener = query<OutboundListenerPlan | undefined, string>(
  "outbound-listener",
  (view, name) => view.read(outboundListeners).get(name),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/**
 * A Sidecar's listener with a port of its own: all its services behind one address. Where connections are redirected and
 * no address is given, traffic other than HTTP is distinguished by the address of its service.
 */
function addOwnListener(view: View, map: ListenerMap, listener: EgressListener): void {
  const { spec } = listener;
  const { number = 0, name = "", protocol = "" } = spec.port ?? {};
  const listenPort: ServicePort = { number, name, protocol: parseProtocol(protocol) };
  const traits = view.read(listenerTraits);
  const bindToPort = number === 0 || bindsToPort(view, spec);
  const bind = spec.bind !== "" ? spec.bind : bindToPort ? traits.loopbackAddress : undefined;
  if (!mayListenBesideVirtual(view, { bind, port: number, protocol: listenPort.protocol, bindToPort })) return;
  const extraAddresses = spec.bind !== "" ? [] : bindToPort ? traits.extraLoopbacks : undefined;
  const virtualServices = layer4VirtualServices(view, listener.name);
  for (const service of view.read(listenerServices, listener.name)) {
    const port =
      service.ports.find((one) => one.number === number) ??
      (service.ports.length === 1 ? service.ports[0] : undefined) ??
      listenPort;
    const part = { service, port, listenPort, bindToPort, extraAddresses, virtualServices, listener: listener.name };
    addAtAddresses(view, map, part, { bind, perPod: false });
  }
}

/** At the address given; without one, at those of the service, which HTTP shares with all others. */
function addAtAddresses(view: View, map: ListenerMap, part: Omit<Part, "bind" | "cidr">, { bind, perPod }: At): void {
  const { service, port, listenPort } = part;
  const { wildcardAddress } = view.read(listenerTraits);
  if (bind !== undefined || !(isTcp(listenPort.protocol) || isUnsupported(listenPort.protocol))) {
    addService(view, map, { ...part, bind: bind ?? wildcardAddress, cidr: undefined });
    return;
  }
  const pods = perPod && isTcp(listenPort.protocol) ? filteredPods(view, service, port) : undefined;
  for (const cidr of pods ?? []) addService(view, map, { ...part, bind: wildcardAddress, cidr, isPod: true });
  if (pods !== undefined) return;
  for (const address of perPod ? serviceAddresses(view, service, port) : ownAddresses(view, service)) {
    const cidr = address.includes("/") ? address : undefined;
    const isNowhere = service.registry === "Kubernetes" && isUnspecified(address);
    const extraAddresses = isNowhere ? [] : part.extraAddresses;
    const at = { address, bind: cidr === undefined ? address : wildcardAddress, cidr };
    addService(view, map, { ...part, extraAddresses, ...at });
  }
}

interface At {
  readonly bind: string | undefined;
  /** Each pod of a headless service has a place of its own. */
  readonly perPod: boolean;
}

/** The pods of a headless service, where one listener of its port distinguishes them by filter chains. */
function filteredPods(view: View, service: Service, port: ServicePort): readonly string[] | undefined {
  return view.feature("headlessFilterChains") ? podAddresses(view, service, port) : undefined;
}

/** The catch-all: a listener for every port of every service. */
function addServicePorts(view: View, map: ListenerMap, listener: EgressListener): void {
  const traits = view.read(listenerTraits);
  const bindToPort = bindsToPort(view, listener.spec);
  const ownBind = listener.spec.bind !== "" ? listener.spec.bind : bindToPort ? traits.loopbackAddress : undefined;
  const extraAddresses = listener.spec.bind !== "" ? [] : bindToPort ? traits.extraLoopbacks : undefined;
  const virtualServices = layer4VirtualServices(view, listener.name);
  const matchesAddress = view.feature("clusterIpMatching");
  for (const service of view.read(listenerServices, listener.name)) {
    if (service.resolution === "alias") continue;
    for (const port of service.ports) {
      const place = { bind: ownBind, port: port.number, protocol: port.protocol, bindToPort };
      if (port.protocol === "UDP" || !mayListenBesideVirtual(view, place)) continue;
      const part = {
        service,
        port,
        listenPort: port,
        bindToPort,
        extraAddresses,
        virtualServices,
        listener: listener.name,
      };
      addAtAddresses(view, map, part, { bind: ownBind, perPod: true });
      const hasClusterAddress = service.registry === "Kubernetes" && isHttp(port.protocol);
      if (matchesAddress && ownBind === undefined && hasClusterAddress) addAtClusterAddress(view, map, part);
    }
  }
}

/**
 * Requests to a service's address belong to the service, whatever host they name (GEP-1324 of the Gateway API); requests to other addresses
 * are distinguished by their host, in the listener of the port. differs: istiod goes by the host only (decision 0137).
 */
function addAtClusterAddress(view: View, map: ListenerMap, part: Omit<Part, "bind" | "cidr">): void {
  const bind = serviceAddress(view, part.service);
  if (isIpAddress(bind) && !isUnspecified(bind))
    addService(view, map, { ...part, bind, cidr: undefined, hasOwnRoutes: true });
}

interface Part {
  readonly service: Service;
  readonly port: ServicePort;
  readonly listenPort: ServicePort;
  readonly bind: string;
  readonly bindToPort: boolean;
  /** Of the proxy's own choice of a loopback address; undefined: those of the service. */
  readonly extraAddresses: readonly string[] | undefined;
  readonly cidr: string | undefined;
  /** The one of the service's addresses that is added; undefined: its first. */
  readonly address?: string;
  /** `cidr` is the address of a pod, which identifies the service without a server name. */
  readonly isPod?: boolean;
  /** Its HTTP routes are not those of the whole port. */
  readonly hasOwnRoutes?: boolean;
  readonly listener: ListenerName;
  readonly virtualServices: readonly Config<VirtualService>[];
}

function addService(view: View, map: ListenerMap, part: Part): void {
  const { service, port, listenPort, bind, bindToPort, cidr, virtualServices } = part;
  const { protocol, number } = listenPort;
  const isWildcard = bind === view.read(listenerTraits).wildcardAddress;
  const isAlone = part.hasOwnRoutes === true || (isUnsupported(protocol) && !isWildcard);
  // A port whose protocol is unknown has routes of its own: its listener serves one service only.
  const routeName = number === 0 ? bind : isAlone ? `${service.hostname}:${number}` : `${number}`;
  map.add({
    bind,
    port: number,
    bindToPort,
    isWildcard,
    extraAddresses: part.extraAddresses ?? furtherAddresses(view, service, bind),
    protocol,
    owner: service.hostname,
    http: isTcp(protocol)
      ? undefined
      : {
          routeName,
          grpcWeb: protocol === "GRPC-Web",
          ...(service.resolution === "dynamic-dns" && {
            dnsCache: { hostname: service.hostname, ipMode: resolvedFamilies(view), resolver: "" },
          }),
        },
    tcp:
      isTcp(protocol) || isUnsupported(protocol)
        ? tcpChains(view, {
            ...{ service, port, listenPort, cidr, virtualServices, gateway: meshGateway },
            aliases:
              part.isPod !== true && needsServerName(view, part)
                ? importedAliases(view, part.listener, service)
                : undefined,
          })
        : [],
  });
}

/** True where the address of a connection does not identify the service. */
function needsServerName(view: View, { service, bind, cidr, address = serviceAddress(view, service) }: Part): boolean {
  const { wildcardAddress } = view.read(listenerTraits);
  if (cidr !== undefined || (service.resolution === "dynamic-dns" && service.hostname.startsWith("*"))) return true;
  const isNowhere = isUnspecified(address) && (service.registry === "External" || address === wildcardAddress);
  return address.includes("/") || (bind === wildcardAddress && isNowhere);
}

function hasPort({ port, bind }: IstioEgressListener): boolean {
  return port !== undefined && (port.number !== 0 || bind.startsWith("unix://"));
}

function bindsToPort(view: View, { captureMode }: IstioEgressListener): boolean {
  if (captureMode !== CaptureMode.DEFAULT) return captureMode === CaptureMode.NONE;
  return capturesNothing(view);
}

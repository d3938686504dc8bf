/** A Gateway as a waypoint: where it is reached, whose traffic it takes, and who may attach to it. */
import type { KubernetesGatewaySpec } from "@flotilla/gateway-api";
import {
  type Config,
  type GatewayAddresses,
  gatewayAddresses,
  hbonePort,
  type LabelSelector,
  type Labels,
  matchesSelector,
  ownValue,
  parseBoolean,
} from "@flotilla/model";

/** Traffic of a mesh that the waypoint handles: to services, to workloads, to both, or none. */
export type WaypointTraffic = "service" | "workload" | "all" | "none";

/** A host name of the mesh, or an address within a network. */
export type GatewayDestination =
  | { readonly namespace: string; readonly hostname: string }
  | { readonly network: string; readonly address: string };

export interface Waypoint {
  readonly namespace: string;
  readonly name: string;
  readonly destination: GatewayDestination;
  /** Where it takes HBONE: that of the mesh, whatever its listener has; as in istiod. */
  readonly port: number;
  readonly traffic: WaypointTraffic;
  readonly attachment: WaypointAttachment;
  /** How a ztunnel hands connections to the waypoint's own pods; undefined where these take HBONE. */
  readonly inbound?: InboundBinding;
}

export interface InboundBinding {
  readonly protocol: "NONE" | "PROXY";
  /** 0: the port of the call. */
  readonly port: number;
}

/** `allowedRoutes` of the listener by which it is reached. */
export interface WaypointAttachment {
  readonly from: "All" | "Same" | "Selector" | "None";
  readonly selector?: LabelSelector;
}

export interface GatewayClassTraits {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly controllerName: string;
}

const trafficLabel = "istio.io/waypoint-for";
const inboundAnnotation = "ambient.istio.io/waypoint-inbound-binding";
const proxyListener = "istio.io/PROXY";

/** Undefined for a Gateway without an address yet: its class's controller writes it once a pod of the waypoint is ready. */
export function waypointOf(
  gateway: Config<KubernetesGatewaySpec>,
  gatewayClass: GatewayClassTraits | undefined,
  network: string,
): Waypoint | undefined {
  const { key, spec } = gateway;
  const destination = gatewayDestination(gateway, network);
  if (destination === undefined) return undefined;
  const inbound = inboundBinding(gateway, gatewayClass);
  return {
    namespace: key.namespace,
    name: key.name,
    destination,
    port: hbonePort,
    traffic: trafficOf(gateway.labels[trafficLabel] ?? gatewayClass?.labels[trafficLabel]),
    attachment: waypointAttachment(spec, inbound),
    ...(inbound === undefined ? {} : { inbound }),
  };
}

/** The first host name of the status, else its first address. */
function gatewayDestination(
  { key, status }: Config<KubernetesGatewaySpec>,
  network: string,
): GatewayDestination | undefined {
  const addresses = gatewayAddresses((status ?? {}) as GatewayAddresses);
  const host = addresses.find(({ type }) => type === "Hostname");
  if (host !== undefined) return { namespace: key.namespace, hostname: host.value };
  const [own] = addresses;
  return own && { network, address: own.value };
}

/** A value that is none of Istio's is for no traffic, as in istiod. */
function trafficOf(value = "service"): WaypointTraffic {
  return value === "service" || value === "workload" || value === "all" ? value : "none";
}

/** `PROTOCOL[/PORT]` in an annotation of the Gateway or its class; a port that is no number counts as none. */
export function inboundBinding(
  { annotations }: Pick<Config, "annotations">,
  gatewayClass: GatewayClassTraits | undefined,
): InboundBinding | undefined {
  const text = ownValue(annotations, inboundAnnotation) ?? ownValue(gatewayClass?.annotations, inboundAnnotation);
  const [protocol, port = "0", ...more] = (text ?? "").split("/");
  if ((protocol !== "NONE" && protocol !== "PROXY") || more.length > 0) return undefined;
  return { protocol, port: /^\d{1,5}$/.test(port) ? Number(port) : 0 };
}

/** Of the listener that the waypoint is reached by: that of its inbound binding, else HBONE. */
export function waypointAttachment(
  { listeners = [] }: KubernetesGatewaySpec,
  inbound: InboundBinding | undefined,
): WaypointAttachment {
  const listener =
    listeners.find((one) => inbound !== undefined && isOfBinding(one, inbound)) ??
    listeners.find(({ protocol, port }) => protocol === "HBONE" && port === hbonePort);
  const { from = "Same", selector } = listener?.allowedRoutes?.namespaces ?? {};
  if (from === "All" || from === "None") return { from };
  return from === "Selector" ? { from, ...(selector === undefined ? {} : { selector }) } : { from: "Same" };
}

/** A port decides alone, of whatever protocol the listener is. */
function isOfBinding(
  listener: { readonly protocol?: string; readonly port?: number },
  inbound: InboundBinding,
): boolean {
  if (inbound.port !== 0) return listener.port === inbound.port;
  return inbound.protocol === "PROXY" && listener.protocol === proxyListener;
}

/** True where objects of a namespace may attach to the waypoint. */
export function mayAttach({ namespace: home, attachment }: Waypoint, namespace: string, labels: Labels): boolean {
  switch (attachment.from) {
    case "All":
      return true;
    case "None":
      return false;
    case "Same":
      return home === namespace;
    case "Selector":
      return (
        attachment.selector !== undefined &&
        matchesSelector(attachment.selector, { "kubernetes.io/metadata.name": namespace, ...labels })
      );
  }
}

/** Undefined when the object names none for the ingress. */
export function ingressUsesWaypoint(labels: Labels, namespaceLabels: Labels): boolean | undefined {
  const label = "istio.io/ingress-use-waypoint";
  const value = ownValue(labels, label) ?? ownValue(namespaceLabels, label);
  return value === undefined ? undefined : parseBoolean(value) === true;
}

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
const meshController = "istio.io/mesh-controller";
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

function trafficOf(value: string | undefined): WaypointTraffic {
  return value === "workload" || value === "all" || value === "none" ? value : "service";
}

/** `PROTOCOL[/PORT]` in an annotation of the Gateway or its class. */
export function inboundBinding(
  { annotations }: Pick<Config, "annotations">,
  gatewayClass: GatewayClassTraits | undefined,
): InboundBinding | undefined {
  const text = annotations[inboundAnnotation] ?? gatewayClass?.annotations[inboundAnnotation];
  if (text === undefined || gatewayClass?.controllerName === meshController) return undefined;
  const [protocol, port = "0"] = text.split("/");
  if ((protocol !== "NONE" && protocol !== "PROXY") || !/^\d{1,5}$/.test(port)) return undefined;
  return { protocol, port: Number(port) };
}

/** Of the listener that the waypoint is reached by: HBONE, or that of its inbound binding. */
export function waypointAttachment(
  { listeners = [] }: KubernetesGatewaySpec,
  inbound: InboundBinding | undefined,
): WaypointAttachment {
  const listener = listeners.find(({ protocol, port }) =>
    inbound === undefined
      ? protocol === "HBONE" && port === hbonePort
      : protocol === proxyListener && (inbound.port === 0 || port === inbound.port),
  );
  const { from = "Same", selector } = listener?.allowedRoutes?.namespaces ?? {};
  if (from === "All" || from === "None") return { from };
  return from === "Selector" ? { from, selector: selector ?? {} } : { from: "Same" };
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
      return matchesSelector(attachment.selector ?? {}, { "kubernetes.io/metadata.name": namespace, ...labels });
  }
}

/** Undefined when the object names none for the ingress. */
export function ingressUsesWaypoint(labels: Labels, namespaceLabels: Labels): boolean | undefined {
  const label = "istio.io/ingress-use-waypoint";
  const value = ownValue(labels, label) ?? ownValue(namespaceLabels, label);
  return value === undefined ? undefined : value.toLowerCase() === "true";
}

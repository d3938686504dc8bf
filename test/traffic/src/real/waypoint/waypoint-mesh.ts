/** The objects of a mesh with a waypoint: services behind it, pods that are captured and not, and a gateway of the mesh. */
export const namespace = "shop";

/** No other test listens on these: ports of pods and of HBONE are those of the mesh, so addresses must differ. */
export interface WaypointAddresses {
  readonly waypoint: string;
  readonly v1: string;
  readonly v2: string;
  /** Captured: reached by a tunnel. */
  readonly captured: string;
}

/** Virtual addresses of services, without a listener. */
export const vips = { web: "10.255.0.1", captured: "10.255.0.2", late: "10.255.0.3", versions: "10.255.0.4" } as const;
export const podPort = 8080;
export const edgeHost = "late.example";

interface Meta {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An object of the namespace, as a document. */
function object(apiVersion: string, kind: string, name: string, parts: object, meta: Meta = {}): string {
  return JSON.stringify({ apiVersion, kind, metadata: { name, namespace, ...meta }, ...parts });
}

export const istio = (kind: string, name: string, spec: object, meta: Meta = {}) =>
  object("networking.istio.io/v1", kind, name, { spec }, meta);
export const gatewayApi = (kind: string, name: string, parts: object) =>
  object("gateway.networking.k8s.io/v1", kind, name, parts);
export const policy = (kind: string, name: string, spec: object) =>
  object("security.istio.io/v1", kind, name, { spec });

export const boundToWaypoint = { "istio.io/use-waypoint": "waypoint" };
export const calledThroughWaypoint = { "istio.io/ingress-use-waypoint": "true" };

/** Pods, their services and the Service of the waypoint. */
export function workloads({ waypoint, v1, v2, captured }: WaypointAddresses): string {
  const waypointPorts = [{ name: "mesh", port: 15_008, appProtocol: "hbone" }];
  const redirected = { annotations: { "ambient.istio.io/redirection": "enabled" } };
  return [
    ...pod("v1", v1),
    ...pod("v2", v2),
    ...pod("captured", captured, redirected),
    ...pod("waypoint", waypoint, { labels: waypointLabels }),
    ...service("versions", { clusterIP: vips.versions, ports: podPorts }, { v1, v2 }),
    ...service("v1", { clusterIP: "10.255.1.1", ports: podPorts }, { v1 }),
    ...service("v2", { clusterIP: "10.255.1.2", ports: podPorts }, { v2 }),
    ...service("web", { clusterIP: vips.web, ports: podPorts, labels: boundToWaypoint }, { v1, v2 }),
    ...service("captured", { clusterIP: vips.captured, ports: podPorts, labels: boundToWaypoint }, { captured }),
    ...service("waypoint", { clusterIP: "10.255.0.9", ports: waypointPorts, labels: managed }, { waypoint }),
  ].join("\n---\n");
}

const managed = { "gateway.istio.io/managed": "istio.io-mesh-controller" };
export const waypointLabels = { ...managed, "gateway.networking.k8s.io/gateway-name": "waypoint" };
const podPorts = [{ name: "http", port: 80, targetPort: podPort }];

function pod(name: string, podIP: string, meta: Meta = {}): readonly string[] {
  const status = { phase: "Running", podIP, conditions: [{ type: "Ready", status: "True" }] };
  return [object("v1", "Pod", name, { spec: { serviceAccountName: name, nodeName: "n1" }, status }, meta)];
}

interface ServiceParts {
  readonly clusterIP: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort?: number }[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** @param pods addresses by name */
function service(
  name: string,
  { clusterIP, ports, labels = {} }: ServiceParts,
  pods: Readonly<Record<string, string>>,
): readonly string[] {
  const endpoints = Object.entries(pods).map(([pod, address]) => ({
    ...{ addresses: [address], conditions: { ready: true } },
    targetRef: { kind: "Pod", name: pod, namespace },
  }));
  const own = ports.map(({ targetPort, ...port }) => ({ ...port, port: targetPort ?? port.port }));
  const ofService = { labels: { "kubernetes.io/service-name": name } };
  return [
    object("v1", "Service", name, { spec: { clusterIP, ports, selector: { app: name } } }, { labels }),
    object("discovery.k8s.io/v1", "EndpointSlice", name, { addressType: "IPv4", endpoints, ports: own }, ofService),
  ];
}

/** The service that a waypoint is put before and taken away from. */
export function lateService({ v1 }: WaypointAddresses, labels: Readonly<Record<string, string>>): string {
  return service("late", { clusterIP: vips.late, ports: podPorts, labels }, { v1 }).join("\n---\n");
}

/** The Gateway with the address that its class's controller would write. */
export const waypointGateway = gatewayApi("Gateway", "waypoint", {
  spec: { gatewayClassName: "istio-waypoint", listeners: [{ name: "mesh", port: 15_008, protocol: "HBONE" }] },
  status: { addresses: [{ type: "Hostname", value: `waypoint.${namespace}.svc.cluster.local` }] },
});

const ofWaypoint = [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "waypoint" }];

/** One host has many waypoints and ztunnels in these tests: each listens on its own address alone. */
export function waypointAddress(address: string): string {
  const value = { address: { socketAddress: { address, portValue: 15_008 } } };
  const patch = { operation: "MERGE", value };
  const match = { context: "SIDECAR_INBOUND", listener: { name: "connect_terminate" } };
  const spec = { targetRefs: ofWaypoint, configPatches: [{ applyTo: "LISTENER", match, patch }] };
  return object("networking.istio.io/v1alpha3", "EnvoyFilter", "own-address", { spec });
}

/** Callers from outside come by a gateway that sends them through the waypoint. */
export function edge(port: number): string {
  const host = `late.${namespace}.svc.cluster.local`;
  return [
    istio("Gateway", "edge", {
      selector: { app: "edge" },
      servers: [{ port: { number: port, name: "http", protocol: "HTTP" }, hosts: [edgeHost] }],
    }),
    istio("VirtualService", "edge", {
      ...{ hosts: [edgeHost], gateways: ["edge"] },
      http: [{ route: [{ destination: { host, port: { number: 80 } } }] }],
    }),
  ].join("\n---\n");
}

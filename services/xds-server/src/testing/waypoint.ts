/** A waypoint of the namespace `shop` before Kubernetes objects, for tests that look at single fields of what it gets. */
import { type JsonObject, type KubeObject, type Proxy, parseNode } from "@flotilla/model";
import { aKubeMesh, anObject } from "./kube-mesh.ts";

export interface WaypointGiven {
  readonly objects?: readonly KubeObject[];
  readonly metadata?: JsonObject;
  /** Its Envoy has none of Istio's extensions. */
  readonly isStock?: boolean;
  /** Of its Gateway. */
  readonly labels?: JsonObject;
  readonly mesh?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
}

export const useWaypoint = { "istio.io/use-waypoint": "waypoint" };
export const hostOf = (name: string): string => `${name}.shop.svc.cluster.local`;

export function aWaypoint({ metadata = {}, isStock = false }: WaypointGiven): Proxy {
  return parseNode({
    id: "waypoint~10.0.0.7~waypoint.shop~shop.svc.cluster.local",
    locality: { region: "", zone: "", subzone: "" },
    metadata: {
      NAMESPACE: "shop",
      CLUSTER_ID: "Kubernetes",
      LABELS: { "gateway.networking.k8s.io/gateway-name": "waypoint" },
      ...metadata,
    },
    ...(isStock && { extensions: new Set<string>() }),
  });
}

/** A Service of `shop`, behind the waypoint unless its labels are others. */
export function aKubeService(
  name: string,
  clusterIP: string,
  ports: readonly JsonObject[],
  labels: JsonObject = useWaypoint,
): KubeObject {
  return anObject("Service", `shop/${name}`, {
    metadata: { labels },
    spec: { clusterIP, clusterIPs: [clusterIP], ports },
  });
}

/** `web` (HTTP 80, TCP 9000) and `cart` (gRPC 7070) are behind the waypoint, `free` (HTTP 80) is not. */
export function aWaypointMesh({ objects = [], labels = {}, mesh = {}, env = {} }: WaypointGiven) {
  const gateway = {
    ...anObject("Gateway", "shop/waypoint", {
      metadata: { labels },
      spec: { gatewayClassName: "istio-waypoint", listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }] },
      status: { addresses: [{ type: "Hostname", value: hostOf("waypoint") }] },
    }),
    apiVersion: "gateway.networking.k8s.io/v1",
  };
  const http = { name: "http", port: 80 };
  const services = [
    aKubeService("web", "10.96.0.1", [http, { name: "tcp", port: 9000 }]),
    aKubeService("cart", "10.96.0.2", [{ name: "grpc", port: 7070 }]),
    aKubeService("free", "10.96.0.3", [http], {}),
  ];
  return aKubeMesh([gateway, ...services, ...objects], { mesh, env: { PILOT_ENABLE_AMBIENT: "true", ...env } });
}

/** The fields that HBONE tunnels of a proxy have in common. */
import type { Service } from "@flotilla/model";
import type { Cluster } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { calledEndpoints } from "../../snapshot/scope/called-endpoints.ts";
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import { hasRemoteTunnels, listensForHbone, opensTunnels, sendsHbone } from "../../snapshot/scope/hbone.ts";
import { destinationServices } from "../../snapshot/scope/routed-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { blackHoleCluster } from "../envoy/clusters/cluster-parts.ts";
import { takesHbone } from "../envoy/endpoints/reached-endpoint.ts";
import { peerOfCluster } from "../envoy/hbone/baggage.ts";
import { peerMetadataFilter } from "../envoy/hbone/filter-state.ts";
import {
  connectOriginateCluster,
  forwardInnerConnectCluster,
  innerConnectOriginateCluster,
  internalCluster,
  outerConnectOriginateCluster,
  type TunnelInputs,
} from "../envoy/hbone/hbone-clusters.ts";
import { istioExtensions } from "../envoy/istio-extensions.ts";
import { peerTrustDomains } from "./mesh-tls.ts";

/** Identities of the mesh; waypoints name their own namespace besides, as istiod has it. */
const tunnelPeers = query<readonly string[]>("tunnel-peers", (view) => {
  const peers = view.read(meshPeers);
  const isChecked = !view.feature("skipValidateTrustDomain");
  if (view.proxy.type !== "waypoint" || !isChecked) return peers;
  return [...peers, `spiffe://${view.mesh.trustDomain}/ns/${view.proxy.namespace}/sa/`];
});

export const meshPeers = query<readonly string[]>("mesh-peers", (view) =>
  view.read(peerTrustDomains).map((domain) => `spiffe://${domain}/`),
);

function tunnelInputs(view: View, peers: readonly string[]): TunnelInputs {
  return {
    connectTimeout: view.mesh.connectTimeout,
    peers,
    compliance: view.feature("compliancePolicy"),
    idleTimeout: view.mesh.hboneIdleTimeout,
    streamWindow: view.feature("hboneStreamWindow"),
    connectionWindow: view.feature("hboneConnectionWindow"),
    tracksRemaining: !view.feature("disableTrackRemaining"),
  };
}

/** Envoys of Istio before 1.29.2 and stock ones support their own kind of text only. */
export function textFactory({ proxy }: View): string {
  const isKnown = proxy.isAtLeast(1, 29, 2) && proxy.supports(istioExtensions.httpPeerMetadata);
  return isKnown ? "istio.hashable_string" : "envoy.string";
}

/** Tunnels name the caller; only Envoys with Istio's extensions support it. */
export function carriesBaggage(view: View): boolean {
  const isKnown = view.proxy.supports(istioExtensions.httpPeerMetadata);
  return isKnown && view.feature("ambient") && view.feature("ambientBaggage");
}

/** How peers' workloads are found at the ends of tunnels; undefined for Envoys without the filter. */
export const tunnelPeerMetadata = query("tunnel-peer-metadata", (view) =>
  view.proxy.supports(istioExtensions.httpPeerMetadata)
    ? peerMetadataFilter("downstream", carriesBaggage(view))
    : undefined,
);

/** Of sidecars and routers; waypoints have more. */
export const tunnelClusterNames = query<readonly string[]>("tunnel-cluster-names", (view) => [
  ...(view.proxy.type === "sidecar" && listensForHbone(view) ? ["main_internal"] : []),
  ...(opensTunnels(view) && sendsHbone(view) ? ["connect_originate"] : []),
  ...(view.proxy.type === "router" && hasRemoteTunnels(view) ? remoteTunnels : []),
]);

/** Of a sidecar or router. As in istiod no EnvoyFilter patches these clusters. Source: scenario ambient/type-changes. */
export function isTunnelCluster(view: View, name: string): boolean {
  return view.read(tunnelClusterNames).includes(name);
}

export const remoteTunnels: readonly string[] = ["inner_connect_originate", "outer_connect_originate"];

/**
 * Listeners and clusters of a waypoint by which connections leave in tunnels: those that it opens. An east-west gateway passes its callers' tunnels on, and
 * opens some where TLS of its own listeners leads to workloads of the ambient mesh: istiod would pass that on, too, and ztunnels refuse it (decision 0473).
 */
export const waypointTunnels = query<readonly string[]>("waypoint-tunnels", (view) => {
  if (!isEastWestGateway(view)) return ["connect_originate", ...(hasRemoteTunnels(view) ? remoteTunnels : [])];
  const isCaptured = (service: Service) => [...calledEndpoints(view, service).values()].flat().some(takesHbone);
  return ["forward_inner_connect", ...(destinationServices(view).some(isCaptured) ? ["connect_originate"] : [])];
});

export interface TunnelClusterInputs extends TunnelInputs {
  readonly kind: "tunnel";
  readonly name: string;
  readonly baggage: boolean;
  /** Tunnels within the tunnels that end here go on as they are. */
  readonly forwards: boolean;
}

/** One of the clusters that HBONE needs. */
export function selectTunnelCluster(view: View, name: string): TunnelClusterInputs {
  const peers = view.read(name === "connect_originate" ? tunnelPeers : meshPeers);
  const forwards = isEastWestGateway(view);
  return { kind: "tunnel", name, baggage: carriesBaggage(view), forwards, ...tunnelInputs(view, peers) };
}

export function buildTunnelCluster({ name, baggage, forwards, ...inputs }: TunnelClusterInputs): Cluster {
  switch (name) {
    case "BlackHoleCluster":
      return blackHoleCluster(inputs.connectTimeout);
    case "forward_inner_connect":
      return forwardInnerConnectCluster(inputs);
    case "connect_originate":
      return connectOriginateCluster(inputs);
    case "inner_connect_originate":
      return innerConnectOriginateCluster(inputs);
    case "outer_connect_originate":
      return outerConnectOriginateCluster(inputs);
    case "encap":
      if (forwards)
        return internalCluster({ ...inputs, name, listener: "forward_inner_connect", isForConnections: true });
      return internalCluster({
        ...inputs,
        name,
        listener: "connect_originate",
        filters: baggage ? [peerOfCluster] : [],
      });
    default:
      return internalCluster({ ...inputs, name });
  }
}

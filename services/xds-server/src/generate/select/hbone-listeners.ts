/** Listeners of HBONE that several types of proxies have. */
import type { Listener } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import { hasRemoteTunnels, listensForHbone, opensTunnels } from "../../snapshot/scope/hbone.ts";
import { telemetryScope } from "../../snapshot/scope/telemetry.ts";
import { query, type View } from "../../snapshot/view.ts";
import {
  connectOriginateListener,
  connectTerminateListener,
  forwardInnerConnectListener,
  innerConnectOriginateListener,
  outerConnectOriginateListener,
} from "../envoy/hbone/hbone-listeners.ts";
import type { TunnelTls } from "../envoy/hbone/hbone-tls.ts";
import type { AccessLogs, ListenerTraits } from "../envoy/listeners/listener-traits.ts";
import { accessLogs } from "./access-log.ts";
import { layeredAuthorizationFilters } from "./authorization.ts";
import { carriesBaggage, meshPeers, remoteTunnels, textFactory, tunnelPeerMetadata } from "./hbone.ts";
import { listenerTraits } from "./listener-traits.ts";

export interface TunnelListenerInputs {
  readonly kind: "tunnel";
  readonly name: string;
  readonly traits: Pick<ListenerTraits, "wildcardAddress" | "extraAddresses">;
  readonly logs: AccessLogs;
  readonly tls: TunnelTls;
  readonly authorization: readonly HttpFilter[];
  readonly peerMetadata: HttpFilter | undefined;
  readonly textFactory: string;
  readonly baggage: boolean;
  readonly network: string;
  /** Kind of the proxy, for gateways of other networks. */
  readonly source: string;
  /** Tunnels within the tunnels that end here go on as they are. */
  readonly forwards: boolean;
}

const noFilters: readonly HttpFilter[] = [];

const names: ReadonlySet<string> = new Set([
  "connect_terminate",
  "connect_originate",
  "forward_inner_connect",
  "inner_connect_originate",
  "outer_connect_originate",
]);

/** As in istiod, where sidecars and routers get the listener that opens tunnels once theirs are patched. */
export function isOutsideOfPatches(name: string): boolean {
  return name === "connect_originate";
}

/** Of sidecars and routers; waypoints have more. One that may not send keeps a listener, as in istiod. */
export const tunnelListenerNames = query<readonly string[]>("tunnel-listener-names", (view) => [
  ...(view.proxy.type === "sidecar" && listensForHbone(view) ? ["connect_terminate", "main_internal"] : []),
  ...(opensTunnels(view) ? ["connect_originate"] : []),
  ...(view.proxy.type === "router" && hasRemoteTunnels(view) ? remoteTunnels : []),
]);

/** Undefined for any other name. */
export function selectTunnelListener(view: View, name: string): TunnelListenerInputs | undefined {
  if (!names.has(name)) return undefined;
  const endsTunnels = name === "connect_terminate";
  return {
    kind: "tunnel",
    name,
    traits: view.read(addressTraits),
    logs: view.read(accessLogs, telemetryScope(endsTunnels || view.proxy.type === "waypoint" ? "inbound" : "outbound")),
    tls: { peers: view.read(meshPeers), compliance: view.feature("compliancePolicy") },
    authorization: endsTunnels ? view.read(layeredAuthorizationFilters) : noFilters,
    peerMetadata: endsTunnels ? view.read(tunnelPeerMetadata) : undefined,
    textFactory: textFactory(view),
    baggage: carriesBaggage(view),
    network: name === "inner_connect_originate" ? view.proxy.network : "",
    source: name === "outer_connect_originate" ? sourceOf(view) : "",
    forwards: endsTunnels && isEastWestGateway(view),
  };
}

const addressTraits = query("tunnel-address-traits", (view) => {
  const { wildcardAddress, extraAddresses } = view.read(listenerTraits);
  return { wildcardAddress, extraAddresses };
});

function sourceOf({ proxy }: View): string {
  return proxy.type === "waypoint" ? "waypoint" : "gateway";
}

export function buildTunnelListener({ name, traits, logs, ...inputs }: TunnelListenerInputs): Listener {
  switch (name) {
    case "connect_originate":
      return connectOriginateListener(logs, inputs.baggage);
    case "forward_inner_connect":
      return forwardInnerConnectListener(logs);
    case "inner_connect_originate":
      return innerConnectOriginateListener({ logs, ...inputs });
    case "outer_connect_originate":
      return outerConnectOriginateListener(logs, inputs.source);
    default:
      return connectTerminateListener({
        address: traits.wildcardAddress,
        extraAddresses: traits.extraAddresses,
        logs,
        tls: inputs.tls,
        authorization: inputs.authorization,
        peerMetadata: inputs.peerMetadata,
        textFactory: inputs.textFactory,
        keepsSource: inputs.forwards,
      });
  }
}

/**
 * LDS of a waypoint: the end of tunnels, what is within them, and the beginnings of those that lead on; of an east-west gateway the listeners
 * for TLS that passes through, too.
 */
import { typeUrl } from "@flotilla/proto";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";
import { Context } from "../patch/patch.ts";
import { buildGatewayListener, type GatewayListenerInputs } from "../select/gateway-listeners/build.ts";
import { selectGatewayListener } from "../select/gateway-listeners/inputs.ts";
import { gatewayListenerNames } from "../select/gateway-listeners/listener-plans.ts";
import { waypointTunnels } from "../select/hbone.ts";
import { buildTunnelListener, selectTunnelListener, type TunnelListenerInputs } from "../select/hbone-listeners.ts";
import { listenerPatching } from "../select/patching.ts";
import { buildMainInternal, type MainInternalInputs, selectMainInternal } from "./listeners/main-internal.ts";

type ListenerInputs = TunnelListenerInputs | MainInternalInputs | GatewayListenerInputs;

export const waypointListeners = createGenerator<ListenerInputs, Listener>({
  typeUrl: typeUrl.listener,
  label: "waypoint ",
  schema: ListenerSchema,
  names: (view) => {
    const ofGateway = isEastWestGateway(view) ? view.read(gatewayListenerNames) : [];
    return ["connect_terminate", "main_internal", ...view.read(waypointTunnels), ...ofGateway];
  },
  select,
  build: (inputs) => {
    if (inputs.kind === "main-internal") return buildMainInternal(inputs);
    return inputs.kind === "gateway" ? buildGatewayListener(inputs) : buildTunnelListener(inputs);
  },
  patching: listenerPatching("waypoint", () => Context.SIDECAR_INBOUND),
});

function select(view: View, name: string): ListenerInputs | undefined {
  if (name === "main_internal") return selectMainInternal(view);
  const tunnel = selectTunnelListener(view, name);
  return tunnel ?? (isEastWestGateway(view) ? selectGatewayListener(view, name) : undefined);
}

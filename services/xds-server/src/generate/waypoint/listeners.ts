/** LDS of a waypoint: the end of tunnels, what is within them, and the beginnings of those that lead on. */
import { typeUrl } from "@flotilla/proto";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import { hasRemoteTunnels } from "../../snapshot/scope/hbone.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";
import { Context } from "../patch/patch.ts";
import { buildTunnelListener, selectTunnelListener, type TunnelListenerInputs } from "../select/hbone-listeners.ts";
import { listenerPatching } from "../select/patching.ts";
import { buildMainInternal, type MainInternalInputs, selectMainInternal } from "./listeners/main-internal.ts";

type ListenerInputs = TunnelListenerInputs | MainInternalInputs;

export const waypointListeners = createGenerator<ListenerInputs, Listener>({
  typeUrl: typeUrl.listener,
  label: "waypoint ",
  schema: ListenerSchema,
  names: (view) => {
    const remote = hasRemoteTunnels(view) ? ["inner_connect_originate", "outer_connect_originate"] : [];
    const outgoing = isEastWestGateway(view) ? ["forward_inner_connect"] : ["connect_originate", ...remote];
    return ["connect_terminate", "main_internal", ...outgoing];
  },
  select,
  build: (inputs) => (inputs.kind === "main-internal" ? buildMainInternal(inputs) : buildTunnelListener(inputs)),
  patching: listenerPatching("waypoint", () => Context.SIDECAR_INBOUND),
});

function select(view: View, name: string): ListenerInputs | undefined {
  return name === "main_internal" ? selectMainInternal(view) : selectTunnelListener(view, name);
}

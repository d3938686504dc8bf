/** LDS of a router: a listener for each address and port that its Gateways have servers on. */
import { typeUrl } from "@flotilla/proto";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { createGenerator } from "../encode/generator.ts";
import { Context } from "../patch/patch.ts";
import { buildGatewayListener, type GatewayListenerInputs } from "../select/gateway-listeners/build.ts";
import { selectGatewayListener } from "../select/gateway-listeners/inputs.ts";
import { gatewayListenerNames } from "../select/gateway-listeners/listener-plans.ts";
import {
  buildTunnelListener,
  isOutsideOfPatches,
  selectTunnelListener,
  type TunnelListenerInputs,
  tunnelListenerNames,
} from "../select/hbone-listeners.ts";
import { listenerPatching } from "../select/patching.ts";
import { scopedRouteName } from "./routes/scoped-hosts.ts";

export const routerListeners = createGenerator<GatewayListenerInputs | TunnelListenerInputs, Listener>({
  typeUrl: typeUrl.listener,
  label: "router ",
  schema: ListenerSchema,
  names: (view) => [...view.read(gatewayListenerNames), ...view.read(tunnelListenerNames)],
  select: (view, name) => {
    if (view.read(tunnelListenerNames).includes(name)) return selectTunnelListener(view, name);
    return selectGatewayListener(view, name, view.read(scopedRouteName));
  },
  build: (inputs) => (inputs.kind === "gateway" ? buildGatewayListener(inputs) : buildTunnelListener(inputs)),
  patching: listenerPatching("router", (_, name) => (isOutsideOfPatches(name) ? undefined : Context.GATEWAY)),
});

/** LDS of a router: a listener for each address and port that its Gateways have servers on. */
import { typeUrl } from "@flotilla/proto";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { picksEndpoints } from "../../snapshot/scope/routes-with-filters.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";
import { Context } from "../patch/patch.ts";
import { authorizationFilters } from "../select/authorization.ts";
import {
  buildTunnelListener,
  selectTunnelListener,
  type TunnelListenerInputs,
  tunnelListenerNames,
} from "../select/hbone-listeners.ts";
import { listenerTraits } from "../select/listener-traits.ts";
import { serverFiles } from "../select/mesh-tls.ts";
import { secretServer } from "../select/outside-service.ts";
import { listenerPatching } from "../select/patching.ts";
import { buildRouterListener, type RouterListenerInputs } from "./listeners/build.ts";
import { edgeTraits, takesProxyProtocol } from "./listeners/edge-traits.ts";
import { routerListenerNames, routerListenerPlan } from "./listeners/listener-plans.ts";
import type { RouterListenerPlan } from "./listeners/plan.ts";
import { scopedRouteName } from "./routes/scoped-hosts.ts";

const onDemandSelector = "envoy.extensions.transport_sockets.tls.cert_selectors.on_demand_secret.v3.Config";

/** Above the number of certificates of the setting, by Envoys that can. */
function fetchesOnDemand(view: View, { chains }: RouterListenerPlan): boolean {
  const limit = view.feature("onDemandCertificatesAbove");
  if (limit === 0 || chains.length <= limit) return false;
  return new Set(chains.map(({ tls }) => tls?.credentialName)).size > limit && view.proxy.supports(onDemandSelector);
}

export const routerListeners = createGenerator<RouterListenerInputs | TunnelListenerInputs, Listener>({
  typeUrl: typeUrl.listener,
  label: "router ",
  schema: ListenerSchema,
  names: (view) => [...view.read(routerListenerNames), ...view.read(tunnelListenerNames)],
  select: (view, name) => {
    if (view.read(tunnelListenerNames).includes(name)) return selectTunnelListener(view, name);
    const plan = view.read(routerListenerPlan, name);
    return (
      plan && {
        plan,
        traits: view.read(listenerTraits),
        edge: view.read(edgeTraits),
        takesProxyProtocol: view.read(takesProxyProtocol),
        authorization: view.read(authorizationFilters, ""),
        files: view.read(serverFiles),
        tlsDefaults: view.mesh.tlsDefaults,
        compliance: view.feature("compliancePolicy"),
        onDemand: fetchesOnDemand(view, plan),
        secretServer: view.read(secretServer),
        scopedRoute: view.read(scopedRouteName),
        picksEndpoints: view.read(picksEndpoints),
      }
    );
  },
  build: (inputs) => ("kind" in inputs ? buildTunnelListener(inputs) : buildRouterListener(inputs)),
  patching: listenerPatching("router", () => Context.GATEWAY),
});

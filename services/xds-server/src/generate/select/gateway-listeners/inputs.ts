/** Selects a listener that Gateways have servers on: of a router, and of an east-west gateway. */
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { picksEndpoints } from "../../../snapshot/scope/routes-with-filters.ts";
import type { View } from "../../../snapshot/view.ts";
import { authorizationFilters } from "../authorization.ts";
import { listenerTraits } from "../listener-traits.ts";
import { serverFiles } from "../mesh-tls.ts";
import { secretServer } from "../secret-server.ts";
import type { GatewayListenerInputs } from "./build.ts";
import { edgeTraits, takesProxyProtocol } from "./edge-traits.ts";
import { gatewayListenerPlan } from "./listener-plans.ts";
import type { GatewayListenerPlan } from "./plan.ts";

const onDemandSelector = "envoy.extensions.transport_sockets.tls.cert_selectors.on_demand_secret.v3.Config";

/** `scopedRoute`: the route configuration that is sent host by host. */
export function selectGatewayListener(
  view: View,
  name: string,
  scopedRoute?: string,
): GatewayListenerInputs | undefined {
  const plan = view.read(gatewayListenerPlan, name);
  return (
    plan && {
      kind: "gateway",
      plan,
      trafficDirection: view.proxy.type === "router" ? TrafficDirection.OUTBOUND : TrafficDirection.INBOUND,
      traits: view.read(listenerTraits),
      edge: view.read(edgeTraits),
      takesProxyProtocol: view.read(takesProxyProtocol),
      authorization: view.read(authorizationFilters, ""),
      files: view.read(serverFiles),
      tlsDefaults: view.mesh.tlsDefaults,
      compliance: view.feature("compliancePolicy"),
      onDemand: fetchesOnDemand(view, plan),
      secretServer: view.read(secretServer),
      scopedRoute,
      picksEndpoints: view.read(picksEndpoints),
    }
  );
}

/** Above the number of certificates of the setting, by Envoys that can. */
function fetchesOnDemand(view: View, { chains }: GatewayListenerPlan): boolean {
  const limit = view.feature("onDemandCertificatesAbove");
  if (limit === 0 || chains.length <= limit) return false;
  return new Set(chains.map(({ tls }) => tls?.credentialName)).size > limit && view.proxy.supports(onDemandSelector);
}

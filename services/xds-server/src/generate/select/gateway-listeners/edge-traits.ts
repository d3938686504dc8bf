/** The topology in front of a gateway (`gatewayTopology` of its ProxyConfig). */
import { ForwardClientCertDetails, type Topology } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { ownPart } from "../../../snapshot/own-proxy-config.ts";
import { query } from "../../../snapshot/view.ts";
import type { EdgeTraits } from "../../envoy/listeners/connection-manager.ts";

/** The word of the proxy's own ProxyConfig; of the mesh's default for proxies that were started without one. */
const topology = query<Topology | undefined>("gateway-topology", ({ mesh, proxy }) => {
  const own = ownPart(proxy, "gatewayTopology");
  return own === undefined ? mesh.defaultConfig?.gatewayTopology : own.value;
});

export const edgeTraits = query<EdgeTraits>("edge-traits", (view) => {
  const { numTrustedProxies = 0, forwardClientCertDetails } = view.read(topology) ?? {};
  return {
    trustedHops: numTrustedProxies,
    forwardClientCert: forwardClientCertDetails ?? ForwardClientCertDetails.UNDEFINED,
  };
});

/** Load balancers before the gateway send PROXY protocol. */
export const takesProxyProtocol = query<boolean>(
  "takes-proxy-protocol",
  (view) => view.read(topology)?.proxyProtocol !== undefined,
);

/** Tunnels that an east-west gateway opens itself, beside those that it passes on. */
import type { Service } from "@flotilla/model";
import { destinationServices } from "../../snapshot/scope/routed-services.ts";
import { query } from "../../snapshot/view.ts";
import { takesHbone } from "../envoy/endpoints/reached-endpoint.ts";

/**
 * TLS of its listeners goes to workloads of the ambient mesh in tunnels, as that of a router does. In istiod it is passed on as if it were a tunnel,
 * which a ztunnel refuses (decision 0473).
 */
export const ownTunnels = query<readonly string[]>("own-tunnels", (view) => {
  const isCaptured = (service: Service) => [...view.endpoints(service).values()].flat().some(takesHbone);
  return destinationServices(view).some(isCaptured) ? ["connect_originate"] : [];
});

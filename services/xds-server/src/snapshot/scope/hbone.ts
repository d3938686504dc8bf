/** Selects the proxies that use HBONE, and its form. */
import type { View } from "../view.ts";

/** Clusters of the proxy may lead through tunnels. gRPC programs without a proxy have none. */
export function opensTunnels(view: View): boolean {
  if (!view.feature("ambient") || view.proxy.generator === "grpc") return false;
  return view.feature("sendHbone") || view.proxy.type === "waypoint";
}

/** The proxy calls endpoints by HBONE where they take it: as in istiod a setting of the node, whatever its clusters are. */
export function sendsHbone(view: View): boolean {
  const isOn = view.feature("ambient") && view.proxy.generator !== "grpc";
  return isOn && !view.proxy.metadataFlag("DISABLE_HBONE_SEND");
}

/** The sidecar ends tunnels to its workload. */
export function listensForHbone(view: View): boolean {
  return view.feature("ambient") && view.feature("listenHbone") && view.proxy.metadataFlag("ENABLE_HBONE");
}

/** With several networks gateways and waypoints call workloads of others by tunnels within tunnels, or not at all; sidecars through any gateway. */
export function farCallsOf(view: View): "direct-or-gateway" | "gateway-only" | "tunnels" | "never" {
  const { type, generator } = view.proxy;
  const isOn = view.feature("ambient") && view.feature("ambientMultiNetwork");
  if (!isOn) return "direct-or-gateway";
  if (type === "sidecar" || generator === "grpc") return "gateway-only";
  return hasRemoteTunnels(view) ? "tunnels" : "never";
}

/** As in istiod, waypoints have the listeners of such tunnels whether or not there are other networks. */
export function hasRemoteTunnels(view: View): boolean {
  if (!view.feature("ambient")) return false;
  if (view.proxy.type === "waypoint") return view.feature("multiNetworkWaypoints");
  const isOn = view.feature("ambientMultiNetwork") && view.feature("multiNetworkIngress");
  return view.proxy.type === "router" && isOn && opensTunnels(view);
}

/** How a proxy resolves host names. */
import type { IpMode } from "@flotilla/model";
import { query, type View } from "../../snapshot/view.ts";
import type { DnsCache } from "../envoy/clusters/dns-cache.ts";

/** Address families that a proxy resolves names to: one of IPv6 may reach IPv4 too. */
export function resolvedFamilies(view: View): IpMode {
  return view.proxy.ipMode === "ipv6" && view.feature("ipv4OutboundOfIpv6") ? "dual" : usedFamilies(view);
}

/** Proxies of two families use both only where the control plane supports dual stack. */
export function usedFamilies(view: View): IpMode {
  const { ipMode } = view.proxy;
  return ipMode === "dual" && !view.feature("dualStack") ? "ipv4" : ipMode;
}

/** For names of no service: by the agent where it captures DNS, so that its answers include the mesh's names. */
export const unknownHostsDnsCache = query<DnsCache>("unknown-hosts-dns-cache", (view) => {
  const { proxy } = view;
  const captures = proxy.metadataFlag("DNS_CAPTURE");
  const resolver = captures ? agentAddress(proxy.metadataText("DNS_PROXY_ADDR")) : "";
  return { hostname: "", ipMode: resolvedFamilies(view), resolver, maxHosts: view.feature("unknownHostsMax") };
});

const defaultAgentAddress = "127.0.0.1:15053";

function agentAddress(text: string): string {
  return /^.+:\d+$/.test(text) ? text : defaultAgentAddress;
}

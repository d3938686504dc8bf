/** `proxyHeaders` of a ProxyConfig: what a proxy adds to requests and answers, and what it keeps to itself. */
import type { ProxyConfig_ProxyHeaders } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { ownPart } from "../../snapshot/own-proxy-config.ts";
import { query } from "../../snapshot/view.ts";

/** The word of the proxy's own ProxyConfig; of the mesh's default for proxies that were started without one. */
export const proxyHeaders = query<ProxyConfig_ProxyHeaders | undefined>("proxy-headers", ({ mesh, proxy }) => {
  const own = ownPart(proxy, "proxyHeaders");
  return own === undefined ? mesh.defaultConfig?.proxyHeaders : own.value;
});

/** True where the proxy sends backends the attempt count of a request, by the same rule. Source: scenario telemetry/proxy-config. */
export const addsAttemptCount = query<boolean>("adds-attempt-count", (view) => {
  const own = view.proxy.proxyConfig("proxyHeaders.attemptCount.disabled");
  const disabled = own === undefined ? view.mesh.defaultConfig?.proxyHeaders?.attemptCount?.disabled : own.value;
  return disabled !== true;
});

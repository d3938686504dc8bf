/** Whether the proxy tells backends how often it has tried a request. Source: scenario telemetry/proxy-config. */
import { query } from "../../snapshot/view.ts";

/** The word of the proxy's own ProxyConfig; of the mesh's default for proxies that were started without one. */
export const tellsAttempts = query<boolean>("tells-attempts", (view) => {
  const own = view.proxy.proxyConfig("proxyHeaders.attemptCount.disabled");
  const disabled = own === undefined ? view.mesh.defaultConfig?.proxyHeaders?.attemptCount?.disabled : own.value;
  return disabled !== true;
});

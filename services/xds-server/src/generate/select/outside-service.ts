/** Services of the mesh's extension providers: where a proxy sends spans and logs, and whom it asks about requests. */
import { clusterName } from "@flotilla/model";
import { query, type View } from "../../snapshot/view.ts";
import { credentialSocket } from "../envoy/clusters/credential-socket.ts";
import type { OutsideService } from "../envoy/filters/outside-service.ts";
import type { SecretServer } from "../envoy/tls/agent-secret.ts";
import { hasCredentialSocket } from "./credential-socket.ts";

/** `namespace/host` or `host`; undefined when no such service is known. */
export function outsideService(view: View, service: string, port: number): OutsideService | undefined {
  const slash = service.indexOf("/");
  const [namespace, hostname] = slash < 0 ? ["", service] : [service.slice(0, slash), service.slice(slash + 1)];
  const known = view.servicesByHost(hostname);
  const isKnown = namespace === "" ? known.length > 0 : known.some((name) => name.namespace === namespace);
  return isKnown ? { hostname, cluster: clusterName("outbound", port, "", hostname) } : undefined;
}

/**
 * The SDS server at the socket beside the proxy, else that of the first extension provider that is one.
 * Source: corpus xds, TestGatewayExternalSDSProviderSimulation.
 */
export const secretServer = query<SecretServer | undefined>(
  "secret-server",
  (view) => {
    if (hasCredentialSocket(view)) return credentialSocket;
    const found = view.mesh.extensionProviders.find(({ provider }) => provider.case === "sds")?.provider;
    return found?.case === "sds" ? outsideService(view, found.value.service, found.value.port) : undefined;
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

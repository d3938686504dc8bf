/**
 * SDS servers other than ours: at sockets beside the proxy, as its agent reports (node metadata `credential`, `file-credential`), or an
 * extension provider.
 */
import { query, type View } from "../../snapshot/view.ts";
import { type CredentialSocketInputs, credentialSocket } from "../envoy/clusters/credential-socket.ts";
import type { FileServer, SecretServer } from "../envoy/tls/agent-secret.ts";
import { outsideService } from "./outside-service.ts";

export function hasCredentialSocket({ proxy }: View): boolean {
  return proxy.metadataText("credential") === "true";
}

/** Source: istiod asked, scenario gateways/file-credential. */
export function fileServer({ proxy }: View): FileServer {
  return proxy.metadataText("file-credential") === "true" ? "sds-files-grpc" : "sds-grpc";
}

export const credentialSocketNames = query<readonly string[]>("credential-socket-names", (view) =>
  hasCredentialSocket(view) ? [credentialSocket.cluster] : [],
);

/** As in istiod no EnvoyFilter patches it. Source: scenario gateways/credential-socket. */
export function isCredentialSocket(view: View, name: string): boolean {
  return view.read(credentialSocketNames).includes(name);
}

/** Undefined for clusters of other names. */
export function selectCredentialSocket(view: View, name: string): CredentialSocketInputs | undefined {
  if (!isCredentialSocket(view, name)) return undefined;
  return { kind: "credential-socket", connectTimeout: view.mesh.connectTimeout };
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

/** Proxies beside whose agent an SDS server of their pod serves credentials, as the agent reports (node metadata `credential`). */
import { query, type View } from "../../snapshot/view.ts";
import { type CredentialSocketInputs, credentialSocket } from "../envoy/clusters/credential-socket.ts";

export function hasCredentialSocket({ proxy }: View): boolean {
  return proxy.metadataText("credential") === "true";
}

export const credentialSocketNames = query<readonly string[]>("credential-socket-names", (view) =>
  hasCredentialSocket(view) ? [credentialSocket.cluster] : [],
);

/** Undefined for clusters of other names. */
export function selectCredentialSocket(view: View, name: string): CredentialSocketInputs | undefined {
  if (!view.read(credentialSocketNames).includes(name)) return undefined;
  return { kind: "credential-socket", connectTimeout: view.mesh.connectTimeout };
}

/**
 * Selects the key pairs and roots that the Gateways of a router refer to by `kubernetes-gateway://`, and may: ReferenceGrants open other
 * namespaces.
 */
import { isGranted } from "@flotilla/gateway-api";
import { parseCredentialName, withoutRootSuffix } from "@flotilla/model";
import type { Gateway } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { query, type View } from "../view.ts";
import { type GatewayName, type GatewayServer, gatewayName } from "./gateway-merge.ts";
import { gatewayServers, selectedGateways } from "./gateways.ts";
import { clientCredentials, referenceGrants } from "./kubernetes-gateways.ts";

/** Names of SDS resources without `-cacert`, for the key pair and its roots. */
export const gatewayCredentials = query<ReadonlySet<string>>("gateway-credentials", (view) => {
  // Sidecars and waypoints have no listeners of Gateways.
  if (view.proxy.type !== "router") return new Set();
  const names = view.read(selectedGateways).flatMap(({ name }) => {
    const isOpen = isWritten(view, name) ? (resource: string) => mayRefer(view, name, resource) : () => true;
    return view.read(gatewayServers, name).flatMap(credentialsOf).filter(isOpen).map(withoutRootSuffix);
  });
  const own = view.read(clientCredential);
  return new Set(own === "" ? names : [...names, own]);
});

/** The key pair that a router shows to back ends of BackendTLSPolicies: that of its oldest Gateway which has one; else "". */
export const clientCredential = query<string>("client-credential", (view) => {
  if (view.proxy.type !== "router") return "";
  const credentials = view.read(clientCredentials);
  if (credentials.size === 0) return "";
  const found = view.read(selectedGateways).map(({ name }) => credentials.get(name));
  return found.find((credential) => credential !== undefined) ?? "";
});

/** Of one that listeners of the Gateway API stand for, the references are granted already: others are left out of it. */
function isWritten(view: View, gateway: GatewayName): boolean {
  const { namespace, name } = gatewayName.read(gateway);
  return view.config<Gateway>("Gateway", namespace, name) !== undefined;
}

function mayRefer(view: View, gateway: GatewayName, resource: string): boolean {
  const { namespace: own } = view.proxy;
  const { namespace = "", object = "" } = parseCredentialName(resource) ?? {};
  if (namespace === own) return gatewayName.read(gateway).namespace === own;
  const to = { group: "", kind: "Secret", namespace, name: withoutRootSuffix(object) };
  return isGranted({ from: { kind: "Gateway", namespace: own }, to }, (home) => view.row(referenceGrants, home));
}

function credentialsOf({ server: { tls } }: GatewayServer): readonly string[] {
  if (tls === undefined) return [];
  const names = [tls.credentialName, ...tls.credentialNames, tls.caCertCredentialName];
  return names.filter((name) => name.startsWith("kubernetes-gateway://"));
}

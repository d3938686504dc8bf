/** A connection manager's handling of headers that concern the proxies themselves. */
import {
  HttpConnectionManager_ForwardClientCertDetails as ForwardClientCert,
  HttpConnectionManager_ServerHeaderTransformation as ServerHeader,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import {
  ProxyConfig_ProxyHeaders_MetadataExchangeMode as ExchangeMode,
  ForwardClientCertDetails,
  type ProxyConfig_ProxyHeaders as ProxyHeaders,
} from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import type { TrafficSide } from "./listener-traits.ts";

/** Whom a proxy faces: callers of its workload, services that its workload calls, callers from outside of the mesh, or both ends of a waypoint. */
export type HeaderSide = TrafficSide | "edge" | "waypoint";

/** Fields of the connection manager. @param ofTopology forwarding of client certificates by a gateway */
export function headerFields(
  headers: ProxyHeaders | undefined,
  side: HeaderSide,
  ofTopology = ForwardClientCertDetails.UNDEFINED,
) {
  return {
    ...serverHeader(headers, side),
    ...(headers?.requestId?.disabled === true && { generateRequestId: false }),
    ...(headers?.xForwardedPort?.enabled === true && { appendXForwardedPort: true }),
    ...(side === "inbound" && callersCertificate(headers)),
    ...(side === "edge" && certificateAtEdge(ofTopology)),
  };
}

export function suppressesEnvoyHeaders(headers: ProxyHeaders | undefined): boolean {
  return headers?.envoyDebugHeaders?.disabled === true;
}

/** Foreign services do not learn of the workload. */
export function staysInMesh(headers: ProxyHeaders | undefined): boolean {
  return headers?.metadataExchangeHeaders?.mode === ExchangeMode.IN_MESH;
}

function serverHeader(headers: ProxyHeaders | undefined, side: HeaderSide) {
  const { disabled, value } = headers?.server ?? {};
  if (disabled === true) return { serverHeaderTransformation: ServerHeader.PASS_THROUGH };
  const serverName = value || (side === "outbound" ? "" : "istio-envoy");
  return serverName === "" ? {} : { serverName };
}

/** Inbound proxies append who called to x-forwarded-client-cert. */
function callersCertificate(headers: ProxyHeaders | undefined) {
  const details = headers?.setCurrentClientCertDetails;
  const stated = headers?.forwardedClientCert ?? ForwardClientCertDetails.UNDEFINED;
  return {
    forwardClientCertDetails: forwarding[stated],
    setCurrentClientCertDetails: {
      subject: details?.subject ?? true,
      cert: details?.cert ?? false,
      chain: details?.chain ?? false,
      dns: details?.dns ?? true,
      uri: details?.uri ?? true,
    },
  };
}

/** At the edge callers cannot claim anything by the header. `proxyHeaders` are for sidecars: gateways have a topology. */
function certificateAtEdge(stated: ForwardClientCertDetails) {
  const isStated = stated !== ForwardClientCertDetails.UNDEFINED;
  const forwardClientCertDetails = isStated ? forwarding[stated] : ForwardClientCert.SANITIZE_SET;
  const { APPEND_FORWARD, SANITIZE_SET } = ForwardClientCert;
  const addsDetails = [APPEND_FORWARD, SANITIZE_SET].includes(forwardClientCertDetails);
  return {
    forwardClientCertDetails,
    ...(addsDetails && { setCurrentClientCertDetails: { subject: true, cert: true, dns: true, uri: true } }),
  };
}

const forwarding: Readonly<Record<ForwardClientCertDetails, ForwardClientCert>> = {
  [ForwardClientCertDetails.UNDEFINED]: ForwardClientCert.APPEND_FORWARD,
  [ForwardClientCertDetails.SANITIZE]: ForwardClientCert.SANITIZE,
  [ForwardClientCertDetails.FORWARD_ONLY]: ForwardClientCert.FORWARD_ONLY,
  [ForwardClientCertDetails.APPEND_FORWARD]: ForwardClientCert.APPEND_FORWARD,
  [ForwardClientCertDetails.SANITIZE_SET]: ForwardClientCert.SANITIZE_SET,
  [ForwardClientCertDetails.ALWAYS_FORWARD_ONLY]: ForwardClientCert.ALWAYS_FORWARD_ONLY,
};

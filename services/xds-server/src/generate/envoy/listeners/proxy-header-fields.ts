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

/** Fields of the connection manager. @param forwarding of client certificates, where `headers` have no setting for it */
export function headerFields(
  headers: ProxyHeaders | undefined,
  side: HeaderSide,
  forwarding = ForwardClientCertDetails.UNDEFINED,
) {
  return {
    ...serverHeader(headers, side),
    ...(headers?.requestId?.disabled === true && { generateRequestId: false }),
    ...(headers?.xForwardedPort?.enabled === true && { appendXForwardedPort: true }),
    ...((side === "inbound" || side === "edge") && clientCertificate(headers, side, forwarding)),
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

/** Inbound proxies append who called to x-forwarded-client-cert; at the edge callers cannot claim anything by it. */
function clientCertificate(headers: ProxyHeaders | undefined, side: HeaderSide, otherwise: ForwardClientCertDetails) {
  const details = headers?.setCurrentClientCertDetails;
  const stated = headers?.forwardedClientCert || otherwise;
  const isEdge = side === "edge";
  const unstated = isEdge ? ForwardClientCert.SANITIZE_SET : ForwardClientCert.APPEND_FORWARD;
  return {
    forwardClientCertDetails: stated === ForwardClientCertDetails.UNDEFINED ? unstated : forwarding[stated],
    setCurrentClientCertDetails: {
      subject: details?.subject ?? true,
      cert: details?.cert ?? isEdge,
      chain: details?.chain ?? false,
      dns: details?.dns ?? true,
      uri: details?.uri ?? true,
    },
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

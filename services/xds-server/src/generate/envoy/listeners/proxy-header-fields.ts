/** What a connection manager does with headers that concern the proxies themselves. */
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

/** Fields of the connection manager. */
export function headerFields(headers: ProxyHeaders | undefined, side: TrafficSide) {
  return {
    ...serverHeader(headers, side),
    ...(headers?.requestId?.disabled === true && { generateRequestId: false }),
    ...(headers?.xForwardedPort?.enabled === true && { appendXForwardedPort: true }),
    ...(side === "inbound" && clientCertificate(headers)),
  };
}

export function suppressesEnvoyHeaders(headers: ProxyHeaders | undefined): boolean {
  return headers?.envoyDebugHeaders?.disabled === true;
}

/** Foreign services are not told of the workload. */
export function staysInMesh(headers: ProxyHeaders | undefined): boolean {
  return headers?.metadataExchangeHeaders?.mode === ExchangeMode.IN_MESH;
}

function serverHeader(headers: ProxyHeaders | undefined, side: TrafficSide) {
  const { disabled, value } = headers?.server ?? {};
  if (disabled === true) return { serverHeaderTransformation: ServerHeader.PASS_THROUGH };
  const serverName = value || (side === "inbound" ? "istio-envoy" : "");
  return serverName === "" ? {} : { serverName };
}

/** Inbound proxies append who called to x-forwarded-client-cert. */
function clientCertificate(headers: ProxyHeaders | undefined) {
  const details = headers?.setCurrentClientCertDetails;
  return {
    forwardClientCertDetails: forwarding[headers?.forwardedClientCert ?? ForwardClientCertDetails.UNDEFINED],
    setCurrentClientCertDetails: {
      subject: details?.subject ?? true,
      cert: details?.cert ?? false,
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

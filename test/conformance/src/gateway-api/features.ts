/** The claimed features of the Gateway API, by the profile of the suite that asks for them. */

export const profiles = [
  "MESH-HTTP",
  "MESH-GRPC",
  "GATEWAY-HTTP",
  "GATEWAY-GRPC",
  "GATEWAY-TLS",
  "GATEWAY-TCP",
  "GATEWAY-UDP",
] as const;
export type Profile = (typeof profiles)[number];

const ofEveryMesh = ["Mesh", "MeshClusterIPMatching", "MeshConsumerRoute"];

const ofEveryGateway = [
  "Gateway",
  "GatewayAddressEmpty",
  "GatewayBackendClientCertificate",
  "GatewayFrontendClientCertificateValidation",
  "GatewayFrontendClientCertificateValidationInsecureFallback",
  "GatewayHTTPListenerIsolation",
  "GatewayHTTPSListenerDetectMisdirectedRequests",
  "GatewayInfrastructurePropagation",
  "GatewayPort8080",
  "GatewayStaticAddresses",
  "ListenerSet",
  "ReferenceGrant",
];

const featuresOf: Readonly<Record<Profile, readonly string[]>> = {
  "MESH-HTTP": [
    ...ofEveryMesh,
    "HTTPRoute",
    "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308RedirectStatusCode",
    "HTTPRouteParentRefPort",
    "HTTPRouteResponseHeaderModification",
    "MeshHTTPRouteBackendRequestHeaderModification",
    "MeshHTTPRouteNamedRouteRule",
    "MeshHTTPRouteQueryParamMatching",
    "MeshHTTPRouteRedirectPath",
    "MeshHTTPRouteRedirectPort",
    "MeshHTTPRouteRewritePath",
    "MeshHTTPRouteSchemeRedirect",
  ],
  "MESH-GRPC": [...ofEveryMesh, "GRPCRoute"],
  "GATEWAY-HTTP": [
    ...ofEveryGateway,
    "BackendTLSPolicy",
    "BackendTLSPolicySANValidation",
    "HTTPRoute",
    "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308RedirectStatusCode",
    "HTTPRouteBackendProtocolH2C",
    "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteBackendRequestHeaderModification",
    "HTTPRouteBackendTimeout",
    "HTTPRouteCORS",
    "HTTPRouteDestinationPortMatching",
    "HTTPRouteHostRewrite",
    "HTTPRouteMethodMatching",
    "HTTPRouteNamedRouteRule",
    "HTTPRouteParentRefPort",
    "HTTPRoutePathRedirect",
    "HTTPRoutePathRewrite",
    "HTTPRoutePortRedirect",
    "HTTPRouteQueryParamMatching",
    "HTTPRouteRequestMirror",
    "HTTPRouteRequestMultipleMirrors",
    "HTTPRouteRequestPercentageMirror",
    "HTTPRouteRequestTimeout",
    "HTTPRouteResponseHeaderModification",
    "HTTPRouteRetry",
    "HTTPRouteRetryBackendTimeout",
    "HTTPRouteRetryConnectionError",
    "HTTPRouteSchemeRedirect",
  ],
  "GATEWAY-GRPC": [...ofEveryGateway, "GRPCRoute", "GRPCRouteNamedRouteRule"],
  "GATEWAY-TLS": [...ofEveryGateway, "TLSRoute", "TLSRouteModeMixed", "TLSRouteModeTerminate"],
  "GATEWAY-TCP": [...ofEveryGateway, "TCPRoute"],
  "GATEWAY-UDP": [...ofEveryGateway, "UDPRoute"],
};

/** Those that need no gateway. */
export const meshProfiles: readonly Profile[] = ["MESH-HTTP", "MESH-GRPC"];

export function claimedFeatures(wanted: readonly Profile[]): readonly string[] {
  return [...new Set(wanted.flatMap((profile) => featuresOf[profile]))].sort();
}

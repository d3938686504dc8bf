/** What is claimed of the Gateway API's features, by the profile of the suite that asks for them. */

export const profiles = ["MESH-HTTP", "MESH-GRPC"] as const;
export type Profile = (typeof profiles)[number];

const ofEveryMesh = ["Mesh", "MeshClusterIPMatching", "MeshConsumerRoute"];

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
};

export function claimedFeatures(wanted: readonly Profile[]): readonly string[] {
  return [...new Set(wanted.flatMap((profile) => featuresOf[profile]))].sort();
}

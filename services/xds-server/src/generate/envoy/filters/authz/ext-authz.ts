/** CUSTOM policies: the rules only mark what an outside service of the mesh's extension providers is to be asked about. */
import { create, type Duration, pack } from "@flotilla/proto";
import { ApiVersion } from "@flotilla/proto/envoy/config/core/v3/config_source_pb";
import type { Filter } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { ExtAuthzSchema as HttpExtAuthzSchema } from "@flotilla/proto/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb";
import { ExtAuthzSchema as NetworkExtAuthzSchema } from "@flotilla/proto/envoy/extensions/filters/network/ext_authz/v3/ext_authz_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { MetadataMatcher } from "@flotilla/proto/envoy/type/matcher/v3/metadata_pb";
import type {
  MeshConfig_ExtensionProvider_EnvoyExternalAuthorizationGrpcProvider as GrpcProvider,
  MeshConfig_ExtensionProvider_EnvoyExternalAuthorizationHttpProvider as HttpProvider,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { networkFilter } from "../network-filters.ts";
import type { OutsideService } from "../outside-service.ts";
import { metadataMatcher, stringMatcher, valueMatcher } from "./values.ts";

/** A service that can be asked. */
export interface Authorizer {
  readonly name: string;
  readonly service: OutsideService;
  readonly settings:
    | { readonly case: "envoyExtAuthzHttp"; readonly value: HttpProvider }
    | { readonly case: "envoyExtAuthzGrpc"; readonly value: GrpcProvider };
}

/** Prefix of the results that shadow rules leave for the filter after them. */
export const shadowPrefix = "istio_ext_authz_";

export function httpExtAuthz({ name, service, settings }: Authorizer): HttpFilter {
  const { failOpen, statusOnError, includeRequestBodyInCheck: body } = settings.value;
  const status = Number(statusOnError);
  const config = create(HttpExtAuthzSchema, {
    transportApiVersion: ApiVersion.V3,
    failureModeAllow: failOpen,
    filterEnabledMetadata: isAsked("envoy.filters.http.rbac", name),
    ...(status > 0 && { statusOnError: { code: status } }),
    ...(body && {
      withRequestBody: {
        maxRequestBytes: body.maxRequestBytes,
        allowPartialMessage: body.allowPartialMessage,
        packAsBytes: body.packAsBytes,
      },
    }),
    ...(settings.case === "envoyExtAuthzGrpc"
      ? { services: { case: "grpcService", value: grpcService(service, settings.value.timeout) } }
      : {
          services: { case: "httpService", value: httpService(service, settings.value) },
          ...checkedHeaders(settings.value),
        }),
  });
  return create(HttpFilterSchema, {
    name: "envoy.filters.http.ext_authz",
    configType: { case: "typedConfig", value: pack(HttpExtAuthzSchema, config) },
  });
}

/** Connections can be asked about by gRPC alone. */
export function networkExtAuthz({ name, service, settings }: Authorizer): Filter | undefined {
  if (settings.case !== "envoyExtAuthzGrpc") return undefined;
  const config = create(NetworkExtAuthzSchema, {
    statPrefix: "tcp.",
    transportApiVersion: ApiVersion.V3,
    failureModeAllow: settings.value.failOpen,
    filterEnabledMetadata: isAsked("envoy.filters.network.rbac", name),
    grpcService: grpcService(service, settings.value.timeout),
  });
  return networkFilter("envoy.filters.network.ext_authz", pack(NetworkExtAuthzSchema, config));
}

function isAsked(filter: string, provider: string): MetadataMatcher {
  const value = valueMatcher(stringMatcher(`istio-ext-authz-${provider}*`));
  return metadataMatcher(filter, [`${shadowPrefix}shadow_effective_policy_id`], value);
}

const longest = { seconds: 600n, nanos: 0 };

function grpcService({ hostname, cluster }: OutsideService, timeout: Duration | undefined) {
  return {
    targetSpecifier: { case: "envoyGrpc" as const, value: { clusterName: cluster, authority: hostname } },
    timeout: timeout ?? longest,
  };
}

function httpService({ hostname, cluster }: OutsideService, settings: HttpProvider) {
  const added = Object.entries(settings.includeAdditionalHeadersInCheck).sort(([a], [b]) => (a < b ? -1 : 1));
  const { headersToUpstreamOnAllow: up, headersToDownstreamOnDeny: deny, headersToDownstreamOnAllow: allow } = settings;
  return {
    serverUri: {
      uri: `http://${hostname}`,
      httpUpstreamType: { case: "cluster" as const, value: cluster },
      timeout: settings.timeout ?? longest,
    },
    pathPrefix: settings.pathPrefix,
    ...(added.length > 0 && { authorizationRequest: { headersToAdd: added.map(([key, value]) => ({ key, value })) } }),
    ...(up.length + deny.length + allow.length > 0 && {
      authorizationResponse: {
        ...(up.length > 0 && { allowedUpstreamHeaders: headerNames(up) }),
        ...(deny.length > 0 && { allowedClientHeaders: headerNames(deny) }),
        ...(allow.length > 0 && { allowedClientHeadersOnSuccess: headerNames(allow) }),
      },
    }),
  };
}

/** The older field counts where the newer one is empty. */
function checkedHeaders({ includeRequestHeadersInCheck, includeHeadersInCheck }: HttpProvider) {
  const names = includeRequestHeadersInCheck.length > 0 ? includeRequestHeadersInCheck : includeHeadersInCheck;
  return names.length === 0 ? {} : { allowedHeaders: headerNames(names) };
}

function headerNames(names: readonly string[]) {
  return { patterns: names.map((name) => stringMatcher(name, "", true)) };
}

/** The filter that checks the tokens of requests; a request without any passes, for policies to decide about. */
import { create, type MessageInitShape, pack } from "@flotilla/proto";
import {
  JwtAuthenticationSchema,
  type JwtProvider,
  JwtProviderSchema,
  type JwtRequirement,
  JwtRequirementSchema,
} from "@flotilla/proto/envoy/extensions/filters/http/jwt_authn/v3/config_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import {
  type JWTRule,
  JWTRule_JWTRequirement as Presence,
} from "@flotilla/proto/security/v1beta1/request_authentication_pb";

export type KeySource = NonNullable<MessageInitShape<typeof JwtProviderSchema>["jwksSourceSpecifier"]>;

export interface TokenRule {
  readonly rule: JWTRule;
  /** Where the proxy takes the issuer's public keys from. */
  readonly keys: KeySource;
}

/** @param routesByClaims routes may depend on what tokens claim, so they are chosen anew once these are read */
export function jwtFilter(rules: readonly TokenRule[], routesByClaims: boolean): HttpFilter {
  const providers = rules.map((rule, index) => [`origins-${index}`, provider(rule, routesByClaims)] as const);
  const config = create(JwtAuthenticationSchema, {
    providers: Object.fromEntries(providers),
    rules: [requirementRule(rules.map(({ rule }) => rule))],
    bypassCorsPreflight: true,
  });
  return create(HttpFilterSchema, {
    name: "envoy.filters.http.jwt_authn",
    configType: { case: "typedConfig", value: pack(JwtAuthenticationSchema, config) },
  });
}

function provider({ rule, keys }: TokenRule, clearRouteCache: boolean): JwtProvider {
  return create(JwtProviderSchema, {
    issuer: rule.issuer,
    audiences: rule.audiences,
    forward: rule.forwardOriginalToken,
    forwardPayloadHeader: rule.outputPayloadToHeader,
    fromHeaders: rule.fromHeaders.map(({ name, prefix }) => ({ name, valuePrefix: prefix })),
    fromParams: rule.fromParams,
    fromCookies: rule.fromCookies,
    claimToHeaders: rule.outputClaimToHeaders.map(({ header, claim }) => ({ headerName: header, claimName: claim })),
    clearRouteCache,
    payloadInMetadata: "payload",
    normalizePayloadInMetadata: { spaceDelimitedClaims: spaceDelimited(rule) },
    jwksSourceSpecifier: keys,
  });
}

/** Claims that hold several values in one text. */
function spaceDelimited({ spaceDelimitedClaims }: JWTRule): string[] {
  return [...new Set(["scope", "permission", ...spaceDelimitedClaims])].sort();
}

/** Of several tokens one must be right, and none may be wrong. */
function requirementRule(rules: readonly JWTRule[]) {
  const names = rules.map((_, index) => provided(`origins-${index}`));
  const mayMiss = rules.map((rule, index) =>
    rule.presence === Presence.REQUIRED ? provided(`origins-${index}`) : any([provided(`origins-${index}`), missing]),
  );
  const [only] = mayMiss;
  const requires = only !== undefined && mayMiss.length === 1 ? only : any([...names, all(mayMiss)]);
  return {
    match: { pathSpecifier: { case: "prefix" as const, value: "/" } },
    requirementType: { case: "requires" as const, value: requires },
  };
}

const missing = create(JwtRequirementSchema, { requiresType: { case: "allowMissing", value: {} } });

function provided(value: string): JwtRequirement {
  return create(JwtRequirementSchema, { requiresType: { case: "providerName", value } });
}

function any(requirements: JwtRequirement[]): JwtRequirement {
  return create(JwtRequirementSchema, { requiresType: { case: "requiresAny", value: { requirements } } });
}

function all(requirements: JwtRequirement[]): JwtRequirement {
  return create(JwtRequirementSchema, { requiresType: { case: "requiresAll", value: { requirements } } });
}

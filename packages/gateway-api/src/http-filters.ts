/** Filters of HTTPRoute and GRPCRoute rules in Istio's words. Of several of one kind the last counts, but all mirrors do. */
import { quoteRegex } from "@flotilla/model";
import { create, DurationSchema } from "@flotilla/proto";
import {
  type CorsPolicy,
  CorsPolicy_UnmatchedPreflights,
  CorsPolicySchema,
  type Headers,
  HeadersSchema,
  type HTTPMirrorPolicy,
  HTTPMirrorPolicySchema,
  type HTTPRedirect,
  HTTPRedirect_RedirectPortSelection,
  HTTPRedirectSchema,
  type HTTPRewrite,
  HTTPRewriteSchema,
  type HTTPRoute,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { backendProblem, type RouteContext, resolveBackend } from "./backends.ts";
import type { HeaderModifier, NamedValue, RouteFilter } from "./route-spec.ts";

/** Filters that proxies follow; any other refuses its route, as the Gateway API asks. */
export const ruleFilters: ReadonlySet<string> = new Set([
  "RequestHeaderModifier",
  "ResponseHeaderModifier",
  "RequestMirror",
  "RequestRedirect",
  "URLRewrite",
  "CORS",
]);
export const backendFilters: ReadonlySet<string> = new Set(["RequestHeaderModifier", "ResponseHeaderModifier"]);

export type FilterFields = Partial<Pick<HTTPRoute, "headers" | "redirect" | "rewrite" | "mirrors" | "corsPolicy">>;

export function filterFields(filters: readonly RouteFilter[], context: RouteContext): FilterFields {
  const last = <Key extends keyof RouteFilter>(type: string, key: Key) =>
    filters.findLast((filter) => filter.type === type)?.[key];
  const headers = headersOf(filters);
  const redirect = last("RequestRedirect", "requestRedirect");
  const rewrite = last("URLRewrite", "urlRewrite");
  const cors = last("CORS", "cors");
  return {
    ...(headers && { headers }),
    ...(redirect && { redirect: redirectOf(redirect) }),
    ...(rewrite && { rewrite: rewriteOf(rewrite) }),
    ...(cors && { corsPolicy: corsOf(cors) }),
    mirrors: filters.flatMap((filter) => (filter.type === "RequestMirror" ? mirrorOf(filter, context) : [])),
  };
}

/** Header modifiers of a rule or of a backend. */
export function headersOf(filters: readonly RouteFilter[]): Headers | undefined {
  const request = filters.findLast(({ type }) => type === "RequestHeaderModifier")?.requestHeaderModifier;
  const response = filters.findLast(({ type }) => type === "ResponseHeaderModifier")?.responseHeaderModifier;
  if (request === undefined && response === undefined) return undefined;
  return create(HeadersSchema, {
    ...(request && { request: operations(request) }),
    ...(response && { response: operations(response) }),
  });
}

function operations({ set = [], add = [], remove = [] }: HeaderModifier) {
  return { set: byName(set), add: byName(add), remove: [...remove] };
}

/** Names in lower case, as istiod has them; of equal names the first counts. */
function byName(values: readonly NamedValue[]): Record<string, string> {
  return Object.fromEntries(values.toReversed().map(({ name, value = "" }) => [name.toLowerCase(), value]));
}

/** Mirrors to backends that do not exist are left out: their failure would go unnoticed. */
function mirrorOf({ requestMirror }: RouteFilter, context: RouteContext): readonly HTTPMirrorPolicy[] {
  const { backendRef, percent, fraction } = requestMirror ?? {};
  if (backendRef === undefined || backendProblem(backendRef) !== undefined) return [];
  const { destination, problem } = resolveBackend(backendRef, context);
  if (problem !== undefined) return [];
  const share = fraction === undefined ? percent : (fraction.numerator * 100) / (fraction.denominator ?? 100);
  if (share === 0) return [];
  return [
    create(HTTPMirrorPolicySchema, { destination, ...(share !== undefined && { percentage: { value: share } }) }),
  ];
}

/** Without a port the scheme's own is meant, and where that stays the same, the request's. */
function redirectOf(filter: NonNullable<RouteFilter["requestRedirect"]>): HTTPRedirect {
  const { scheme = "", hostname = "", path, port, statusCode = 302 } = filter;
  const derived =
    scheme === ""
      ? HTTPRedirect_RedirectPortSelection.FROM_REQUEST_PORT
      : HTTPRedirect_RedirectPortSelection.FROM_PROTOCOL_DEFAULT;
  return create(HTTPRedirectSchema, {
    scheme,
    authority: hostname,
    redirectCode: statusCode,
    redirectPort: port === undefined ? { case: "derivePort", value: derived } : { case: "port", value: port },
    ...(path?.type === "ReplaceFullPath" && { uri: path.replaceFullPath ?? "" }),
    ...(path?.type === "ReplacePrefixMatch" && { prefixRewrite: path.replacePrefixMatch ?? "" }),
  });
}

function rewriteOf({ hostname = "", path }: NonNullable<RouteFilter["urlRewrite"]>): HTTPRewrite {
  return create(HTTPRewriteSchema, {
    authority: hostname,
    ...(path?.type === "ReplacePrefixMatch" && { uri: (path.replacePrefixMatch ?? "").replace(/\/$/, "") || "/" }),
    ...(path?.type === "ReplaceFullPath" && {
      uriRegexRewrite: { match: "/.*", rewrite: path.replaceFullPath ?? "" },
    }),
  });
}

function corsOf(cors: NonNullable<RouteFilter["cors"]>): CorsPolicy {
  const {
    allowOrigins = [],
    allowMethods = [],
    allowHeaders = [],
    exposeHeaders = [],
    allowCredentials,
    maxAge,
  } = cors;
  return create(CorsPolicySchema, {
    allowOrigins: allowOrigins.map((origin) => ({ matchType: originMatch(origin) })),
    allowMethods: [...allowMethods],
    allowHeaders: [...allowHeaders],
    exposeHeaders: [...exposeHeaders],
    unmatchedPreflights: CorsPolicy_UnmatchedPreflights.IGNORE,
    ...(maxAge !== undefined && { maxAge: create(DurationSchema, { seconds: BigInt(maxAge) }) }),
    ...(allowCredentials === true && { allowCredentials: true }),
  });
}

/** `*` is any origin, within one it stands for any text, at its end alone for any end. */
function originMatch(origin: string) {
  if (origin === "*") return { case: "regex", value: "^[a-zA-Z][a-zA-Z0-9+.-]*://[^/\\s?#]+$" } as const;
  if (!origin.includes("*")) return { case: "exact", value: origin } as const;
  if (origin.indexOf("*") === origin.length - 1) return { case: "prefix", value: origin.slice(0, -1) } as const;
  return { case: "regex", value: `^${origin.split("*").map(quoteRegex).join(".*")}$` } as const;
}

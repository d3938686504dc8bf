/**
 * The fields of the Gateway API's routes, for editors: written by hand from the kinds' documentation, with the bounds that the API server holds
 * them to. Routes themselves are judged by their meaning (`semantic/gateway-route.ts`) and by the API server.
 */
import type { Schema } from "./schema.ts";
import {
  anyObject,
  hostname,
  list,
  named,
  namespace,
  object,
  oneOf,
  optionalName,
  port,
  preciseHostname,
} from "./schema-words.ts";

const bounded = (maxLength: number, minLength = 0): Schema => ({
  ...{ type: "string", maxLength },
  ...(minLength > 0 && { minLength }),
});
const count = (minimum: number, maximum = 0): Schema => ({
  ...{ type: "integer", minimum },
  ...(maximum > 0 && { maximum }),
});
const kind = bounded(63, 1);
const duration: Schema = { type: "string", pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" };
const headerName: Schema = { ...bounded(256, 1), pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_`|~]+$" };
const headerValue = bounded(4096, 1);
const exactOrRegular = oneOf("Exact", "RegularExpression");
const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"] as const;

const backend = { group: optionalName, kind, name: named, namespace, port };
const backendRef = object(backend, "name");
const parents = list(object({ ...backend, sectionName: preciseHostname }, "name"), 0, 32);
const hostnames = list({ ...hostname, minLength: 1 }, 0, 16);
const sessionPersistence = object({
  ...{ sessionName: bounded(128), type: oneOf("Cookie", "Header"), absoluteTimeout: duration, idleTimeout: duration },
  cookieConfig: object({ lifetimeType: oneOf("Permanent", "Session") }),
});

const headers = list(object({ name: headerName, value: headerValue }, "name", "value"), 0, 16);
const headerModifier = object({ set: headers, add: headers, remove: list(headerName, 0, 16) });
const mirror = object(
  {
    ...{ backendRef, percent: { type: "integer", minimum: 0, maximum: 100 } },
    fraction: object({ numerator: count(0), denominator: count(1) }, "numerator"),
  },
  "backendRef",
);
const changedPath = object(
  {
    type: oneOf("ReplaceFullPath", "ReplacePrefixMatch"),
    replaceFullPath: bounded(1024),
    replacePrefixMatch: bounded(1024),
  },
  "type",
);
const names = list({ type: "string" }, 0, 64);
const externalAuth = object(
  {
    ...{ protocol: oneOf("HTTP", "GRPC"), backendRef, forwardBody: object({ maxSize: count(0) }) },
    grpc: object({ allowedHeaders: names }),
    http: object({ path: bounded(1024), allowedHeaders: names, allowedResponseHeaders: names }),
  },
  ...["protocol", "backendRef"],
);
const cors = object({
  ...{ allowOrigins: list(bounded(253, 1), 0, 64), allowMethods: list(oneOf(...methods, "*"), 0, 9) },
  ...{ allowHeaders: list(headerName, 0, 64), exposeHeaders: list(headerName, 0, 64) },
  ...{ allowCredentials: { type: "boolean" }, maxAge: count(1) },
});
const anyFilter = {
  ...{ requestHeaderModifier: headerModifier, responseHeaderModifier: headerModifier, requestMirror: mirror },
  extensionRef: object({ group: optionalName, kind, name: named }, "group", "kind", "name"),
};
const anyFilterTypes = ["RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "ExtensionRef"] as const;
const httpFilters = list(
  object(
    {
      ...{ type: oneOf(...anyFilterTypes, "RequestRedirect", "URLRewrite", "CORS", "ExternalAuth"), ...anyFilter },
      requestRedirect: object({
        ...{ scheme: oneOf("http", "https"), hostname: preciseHostname, path: changedPath, port },
        statusCode: { type: "integer", enum: [301, 302, 303, 307, 308] },
      }),
      ...{ urlRewrite: object({ hostname: preciseHostname, path: changedPath }), cors, externalAuth },
    },
    "type",
  ),
  ...[0, 16],
);
const grpcFilters = list(object({ type: oneOf(...anyFilterTypes), ...anyFilter }, "type"), 0, 16);

const weight = count(0, 1_000_000);
const weighted = (minItems: number, more: Readonly<Record<string, Schema>> = {}): Schema =>
  list(object({ ...backend, weight, ...more }, "name"), minItems, 16);
const headerMatches = list(
  object({ type: exactOrRegular, name: headerName, value: headerValue }, "name", "value"),
  0,
  16,
);
const httpMatch = object({
  path: object({ type: oneOf("Exact", "PathPrefix", "RegularExpression"), value: bounded(1024) }),
  ...{ headers: headerMatches, method: oneOf(...methods) },
  queryParams: list(
    object({ type: exactOrRegular, name: headerName, value: bounded(1024, 1) }, "name", "value"),
    ...[0, 16],
  ),
});
const httpRule = object({
  ...{ name: preciseHostname, matches: list(httpMatch, 0, 64), filters: httpFilters },
  ...{ backendRefs: weighted(0, { filters: httpFilters }), sessionPersistence },
  timeouts: object({ request: duration, backendRequest: duration }),
  retry: object({ attempts: count(1), backoff: duration, codes: list(count(400, 599)) }),
});
const grpcMethod = object({ type: exactOrRegular, service: bounded(1024), method: bounded(1024) });
const grpcRule = object({
  ...{ name: preciseHostname, filters: grpcFilters, sessionPersistence },
  matches: list(object({ method: grpcMethod, headers: headerMatches }), 0, 64),
  backendRefs: weighted(0, { filters: grpcFilters }),
});
const layer4Rules = list(object({ name: preciseHostname, backendRefs: weighted(1) }, "backendRefs"), 1, 1);

const common = { parentRefs: parents, useDefaultGateways: oneOf("All", "None") };
const ofSpec = (spec: Schema): Schema => object({ spec, status: anyObject }, "spec");

/** By kind. */
export const routeSchemas: Readonly<Record<string, Schema>> = {
  GRPCRoute: ofSpec(object({ ...common, hostnames, rules: list(grpcRule, 0, 16) })),
  HTTPRoute: ofSpec(object({ ...common, hostnames, rules: list(httpRule, 1, 16) })),
  TCPRoute: ofSpec(object({ ...common, rules: layer4Rules }, "rules")),
  TLSRoute: ofSpec(
    object(
      { ...common, hostnames: list({ ...hostname, minLength: 1 }, 1, 1024), rules: layer4Rules },
      "hostnames",
      "rules",
    ),
  ),
  UDPRoute: ofSpec(object({ ...common, rules: layer4Rules }, "rules")),
};

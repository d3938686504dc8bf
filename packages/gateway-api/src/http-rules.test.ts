import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, toJson } from "@flotilla/proto";
import { HTTPRouteSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { grpcRoutes, httpRoutes } from "./http-rules.ts";
import type { GrpcRule, HttpRule } from "./route-spec.ts";
import { inOrder } from "./rule-order.ts";

const key = { kind: "HTTPRoute", namespace: "shop", name: "r" };
const context = {
  namespace: "shop",
  domain: "cluster.local",
  hasService: (hostname: string) => !hostname.startsWith("nobody"),
};
const backendRefs = [{ name: "b", port: 80 }];
const toB = [{ destination: { host: "b.shop.svc.cluster.local", port: { number: 80 } } }];

function http(rule: HttpRule, port = 0): readonly unknown[] {
  return httpRoutes(key, { rules: [rule] }, port, context).map((route) => toJson(HTTPRouteSchema, route));
}

const rules: readonly { readonly name: string; readonly rule: HttpRule; readonly want: JsonObject }[] = [
  {
    name: "without matches everything",
    rule: { backendRefs },
    want: { route: toB },
  },
  {
    name: "all kinds of matches",
    rule: {
      backendRefs,
      matches: [
        {
          path: { type: "RegularExpression", value: "/r.*" },
          headers: [{ name: "X", value: "y" }],
          queryParams: [{ name: "q", type: "RegularExpression", value: "v+" }],
          method: "GET",
        },
      ],
    },
    want: {
      match: [
        {
          uri: { regex: "/r.*" },
          headers: { X: { exact: "y" } },
          queryParams: { q: { regex: "v+" } },
          method: { exact: "GET" },
        },
      ],
      route: toB,
    },
  },
  {
    name: "weights where several backends get traffic",
    rule: {
      backendRefs: [
        { name: "b", port: 80, weight: 3 },
        { name: "c", namespace: "other", port: 81 },
        { name: "d", port: 80, weight: 0 },
        { group: "x.example", kind: "Bucket", name: "e" },
      ],
    },
    want: {
      route: [
        { destination: { host: "b.shop.svc.cluster.local", port: { number: 80 } }, weight: 3 },
        { destination: { host: "c.other.svc.cluster.local", port: { number: 81 } }, weight: 1 },
        { destination: {}, weight: 1 },
      ],
    },
  },
  {
    name: "500 where no backend gets traffic",
    rule: { backendRefs: [{ name: "b", port: 80, weight: 0 }] },
    want: { directResponse: { status: 500 } },
  },
  {
    name: "a redirect of the port of the request",
    rule: { filters: [{ type: "RequestRedirect", requestRedirect: { hostname: "new.example" } }] },
    want: { redirect: { authority: "new.example", redirectCode: 302, derivePort: "FROM_REQUEST_PORT" } },
  },
  {
    name: "a redirect to another scheme's port",
    rule: {
      filters: [
        {
          type: "RequestRedirect",
          requestRedirect: {
            scheme: "https",
            statusCode: 301,
            path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/p" },
          },
        },
      ],
    },
    want: {
      redirect: { scheme: "https", prefixRewrite: "/p", redirectCode: 301, derivePort: "FROM_PROTOCOL_DEFAULT" },
    },
  },
  {
    name: "a prefix replaced without the slash at its end",
    rule: {
      backendRefs,
      filters: [
        {
          type: "URLRewrite",
          urlRewrite: { hostname: "h.example", path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/p/" } },
        },
      ],
    },
    want: { rewrite: { uri: "/p", authority: "h.example" }, route: toB },
  },
  {
    name: "a whole path replaced",
    rule: {
      backendRefs,
      filters: [{ type: "URLRewrite", urlRewrite: { path: { type: "ReplaceFullPath", replaceFullPath: "/all" } } }],
    },
    want: { rewrite: { uriRegexRewrite: { match: "/.*", rewrite: "/all" } }, route: toB },
  },
  {
    name: "the last header modifier, names in lower case",
    rule: {
      backendRefs,
      filters: [
        { type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "lost", value: "1" }] } },
        {
          type: "RequestHeaderModifier",
          requestHeaderModifier: {
            set: [{ name: "X-S", value: "s" }],
            add: [{ name: "a", value: "b" }],
            remove: ["R"],
          },
        },
      ],
    },
    want: { headers: { request: { set: { "x-s": "s" }, add: { a: "b" }, remove: ["R"] } }, route: toB },
  },
  {
    name: "mirrors to services that exist, with their share",
    rule: {
      backendRefs,
      filters: [
        { type: "RequestMirror", requestMirror: { backendRef: { name: "m", port: 80 } } },
        {
          type: "RequestMirror",
          requestMirror: { backendRef: { name: "m", port: 80 }, fraction: { numerator: 1, denominator: 4 } },
        },
        { type: "RequestMirror", requestMirror: { backendRef: { name: "m", port: 80 }, percent: 0 } },
        { type: "RequestMirror", requestMirror: { backendRef: { name: "nobody", port: 80 } } },
      ],
    },
    want: {
      mirrors: [
        { destination: { host: "m.shop.svc.cluster.local", port: { number: 80 } } },
        { destination: { host: "m.shop.svc.cluster.local", port: { number: 80 } }, percentage: { value: 25 } },
      ],
      route: toB,
    },
  },
  {
    name: "CORS with wildcards in origins",
    rule: {
      backendRefs,
      filters: [
        {
          type: "CORS",
          cors: { allowOrigins: ["https://*.a.example", "http://b", "http://c*"], allowMethods: ["GET"], maxAge: 7 },
        },
      ],
    },
    want: {
      corsPolicy: {
        allowOrigins: [{ regex: "^https://.*\\.a\\.example$" }, { exact: "http://b" }, { prefix: "http://c" }],
        allowMethods: ["GET"],
        maxAge: "7s",
        unmatchedPreflights: "IGNORE",
      },
      route: toB,
    },
  },
  {
    name: "the limit of the backend, alone",
    rule: { backendRefs, timeouts: { request: "1m30s", backendRequest: "500ms" } },
    want: { timeout: "0.500s", route: toB },
  },
  {
    name: "both limits, with retries",
    rule: {
      backendRefs,
      timeouts: { request: "1m30s", backendRequest: "500ms" },
      retry: { codes: [503], backoff: "20ms" },
    },
    want: {
      timeout: "90s",
      retries: {
        attempts: 2,
        perTryTimeout: "0.500s",
        backoff: "0.020s",
        retryOn: "connect-failure,refused-stream,unavailable,cancelled,503",
      },
      route: toB,
    },
  },
];

for (const { name, rule, want } of rules) {
  test(`an HTTPRoute's rule means ${name}`, () => assert.deepEqual(http(rule), [{ name: "shop.r.0", ...want }]));
}

test("each match is a route of its own, on the parent's port", () => {
  const matches = [{ path: { type: "Exact", value: "/a" } }, { path: {} }];
  assert.deepEqual(
    http({ name: "named", backendRefs, matches }, 8080),
    [{ exact: "/a" }, { prefix: "/" }].map((uri) => ({ match: [{ uri, port: 8080 }], name: "named", route: toB })),
  );
});

test("GRPCRoutes match the path that a method has", () => {
  const methods = [
    { service: "e.Echo", method: "Say" },
    { service: "e.Echo" },
    { method: "Say" },
    { type: "RegularExpression", service: "e.*" },
    { type: "RegularExpression", method: "S.*" },
  ];
  const rule: GrpcRule = { backendRefs, matches: [...methods.map((method) => ({ method })), { headers: [] }] };
  const routes = grpcRoutes(key, { rules: [rule] }, 0, context).map((route) => toJson(HTTPRouteSchema, route));
  const want = [
    { exact: "/e.Echo/Say" },
    { prefix: "/e.Echo/" },
    { regex: "/[^/]+/Say" },
    { regex: "/e.*/.+" },
    { regex: "/[^/]+/S.*" },
  ];
  assert.deepEqual(
    routes.map(
      (route) => (route as unknown as { readonly match: readonly { readonly uri?: unknown }[] }).match[0]?.uri,
    ),
    [...want, undefined],
  );
});

test("rules are tried from the most to the least specific, equal ones as they come", () => {
  const at = (name: string, ...matches: NonNullable<HttpRule["matches"]>): HttpRule => ({ name, matches, backendRefs });
  const prefix = (value: string) => ({ path: { type: "PathPrefix", value } });
  const ordered = httpRoutes(
    key,
    {
      rules: [
        at("root", prefix("/")),
        at("short", prefix("/a/")),
        at("query", { ...prefix("/a"), queryParams: [{ name: "q", value: "v" }] }),
        at("header", { ...prefix("/a"), headers: [{ name: "h", value: "v" }] }),
        at("method", { ...prefix("/a"), method: "GET" }),
        at("regex", { path: { type: "RegularExpression", value: "/very/long/expression.*" } }),
        at("long", prefix("/abc")),
        at("second root", prefix("/")),
        at("exact", { path: { type: "Exact", value: "/" } }),
      ],
    },
    0,
    context,
  );
  assert.deepEqual(
    inOrder(ordered).map(({ name }) => name),
    ["exact", "long", "method", "header", "query", "short", "root", "second root", "regex"],
  );
});

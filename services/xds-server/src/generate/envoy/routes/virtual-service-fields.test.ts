/** Each field of a VirtualService's HTTP route as the field of Envoy's route that it becomes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../../testing/mesh.ts";

/** Its name, a route of the VirtualService (to the service `a` unless it has an action), the field of Envoy's route, and what it is. */
type Case = readonly [name: string, http: JsonObject, at: string, is: string];

const destination = { host: "a.shop.example" };
const other = { host: "b.shop.example" };
const exact = { exact: "v" };

function firstRoute(http: JsonObject): JsonObject | undefined {
  const hasAction = "redirect" in http || "directResponse" in http || "route" in http;
  const route = { ...http, ...(!hasAction && { route: [{ destination }] }) };
  const core = aKubeMesh([
    anEntry("a"),
    anEntry("b"),
    anObject("VirtualService", "shop/a", { hosts: ["a.shop.example"], http: [route] }),
  ]);
  const found = resourceOf(core, aSidecar("shop"), typeUrl.route, "80");
  return fieldAt(found, "virtualHosts.0.routes.0") as JsonObject | undefined;
}

const tables: Readonly<Record<string, readonly Case[]>> = {
  match: [
    ["no condition takes every path", { match: [{}] }, "match", "{prefix: /, caseSensitive: true}"],
    ["an exact path", { match: [{ uri: { exact: "/x" } }] }, "match", "{path: /x, caseSensitive: true}"],
    ["a prefix", { match: [{ uri: { prefix: "/x" } }] }, "match", "{prefix: /x, caseSensitive: true}"],
    [
      "an expression",
      { match: [{ uri: { regex: "/x.*" } }] },
      "match",
      "{caseSensitive: true, safeRegex: {regex: /x.*}}",
    ],
    [
      "a path in any case",
      { match: [{ uri: { exact: "/x" }, ignoreUriCase: true }] },
      "match",
      "{path: /x, caseSensitive: false}",
    ],
    [
      "a header's value",
      { match: [{ headers: { "x-b": exact, "x-a": { prefix: "w" } } }] },
      "match.headers",
      "[{name: x-a, stringMatch: {prefix: w}}, {name: x-b, stringMatch: {exact: v}}]",
    ],
    [
      "a header's presence",
      { match: [{ headers: { "x-a": {} } }] },
      "match.headers",
      "[{name: x-a, presentMatch: true}]",
    ],
    [
      "an expression for anything asks for presence",
      { match: [{ headers: { "x-a": { regex: "*" } } }] },
      "match.headers",
      "[{name: x-a, presentMatch: true}]",
    ],
    [
      "another expression is asked",
      { match: [{ headers: { "x-a": { regex: "a+" } } }] },
      "match.headers",
      "[{name: x-a, stringMatch: {safeRegex: {regex: a+}}}]",
    ],
    [
      "a header's absence",
      { match: [{ withoutHeaders: { "x-a": {} } }] },
      "match.headers",
      "[{name: x-a, presentMatch: true, invertMatch: true}]",
    ],
    [
      "a header without the value",
      { match: [{ withoutHeaders: { "x-a": exact } }] },
      "match.headers",
      "[{name: x-a, invertMatch: true, stringMatch: {exact: v}, treatMissingHeaderAsEmpty: true}]",
    ],
    [
      "method, host and scheme behind plain headers",
      { match: [{ method: exact, authority: { prefix: "a" }, scheme: { exact: "http" }, headers: { z: exact } }] },
      "match.headers",
      "[{name: z, stringMatch: {exact: v}}, {name: :method, stringMatch: {exact: v}}, {name: :authority, stringMatch: {prefix: a}}, {name: :scheme, stringMatch: {exact: http}}]",
    ],
    [
      "query parameters in order",
      { match: [{ queryParams: { b: exact, a: {} } }] },
      "match.queryParameters",
      "[{name: a, presentMatch: true}, {name: b, stringMatch: {exact: v}}]",
    ],
    [
      "a query parameter by expression",
      { match: [{ queryParams: { a: { regex: "x+" } } }] },
      "match.queryParameters",
      "[{name: a, stringMatch: {safeRegex: {regex: x+}}}]",
    ],
    [
      "a claim is no header",
      { match: [{ headers: { "@request.auth.claims.group": exact } }] },
      "match",
      "{prefix: /, caseSensitive: true, dynamicMetadata: [{filter: envoy.filters.http.jwt_authn, path: [{key: payload}, {key: group}], value: {orMatch: {valueMatchers: [{listMatch: {oneOf: {stringMatch: {exact: v}}}}, {stringMatch: {exact: v}}]}}}]}",
    ],
    [
      "a claim that must not be",
      { match: [{ withoutHeaders: { "@request.auth.claims.group": exact } }] },
      "match.dynamicMetadata.0.invert",
      "true",
    ],
    [
      "a claim that must be",
      { match: [{ headers: { "@request.auth.claims.group": {} } }] },
      "match.dynamicMetadata.0.value.orMatch.valueMatchers.1",
      "{stringMatch: {safeRegex: {regex: .+}}}",
    ],
  ],
  redirect: [
    [
      "moved for good, unless a code is set",
      { redirect: { authority: "b.example" } },
      "redirect",
      "{hostRedirect: b.example, pathRedirect: }",
    ],
    ["303", { redirect: { redirectCode: 303, uri: "/y" } }, "redirect", "{pathRedirect: /y, responseCode: SEE_OTHER}"],
    ["302", { redirect: { redirectCode: 302 } }, "redirect.responseCode", "FOUND"],
    ["307", { redirect: { redirectCode: 307 } }, "redirect.responseCode", "TEMPORARY_REDIRECT"],
    ["308", { redirect: { redirectCode: 308 } }, "redirect.responseCode", "PERMANENT_REDIRECT"],
    ["a scheme", { redirect: { scheme: "https" } }, "redirect", "{pathRedirect: , schemeRedirect: https}"],
    ["a port", { redirect: { port: 8080 } }, "redirect.portRedirect", "8080"],
    [
      "the port of the scheme is left out",
      { redirect: { scheme: "https", port: 443 } },
      "redirect.portRedirect",
      "none",
    ],
    [
      "the other scheme's port is not left out",
      { redirect: { scheme: "https", port: 80 } },
      "redirect.portRedirect",
      "80",
    ],
    ["80 without a scheme is left out", { redirect: { port: 80 } }, "redirect.portRedirect", "none"],
    [
      "the request's port",
      { redirect: { scheme: "https", derivePort: "FROM_REQUEST_PORT" } },
      "redirect.portRedirect",
      "80",
    ],
    [
      "the protocol's port",
      { redirect: { scheme: "https", derivePort: "FROM_PROTOCOL_DEFAULT" } },
      "redirect.portRedirect",
      "none",
    ],
    [
      "an answer of the proxy's own",
      { directResponse: { status: 503, body: { string: "no" } } },
      "directResponse",
      "{status: 503, body: {inlineString: no}}",
    ],
    ["an answer without a body", { directResponse: { status: 404 } }, "directResponse", "{status: 404}"],
    [
      "an answer in bytes",
      { directResponse: { status: 200, body: { bytes: "aGk=" } } },
      "directResponse",
      "{status: 200, body: {inlineBytes: aGk=}}",
    ],
    ["a redirect has no retries", { redirect: { uri: "/y" } }, "route", "none"],
  ],
  action: [
    [
      "one destination",
      {},
      "route",
      "{cluster: outbound|80||a.shop.example, timeout: 0s, retryPolicy: {retryOn: connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, numRetries: 2, retryHostPredicate: [{name: envoy.retry_host_predicates.previous_hosts, typedConfig: {PreviousHostsPredicate}}], hostSelectionRetryMaxAttempts: 5}, maxGrpcTimeout: 0s}",
    ],
    [
      "its port and subset",
      { route: [{ destination: { ...destination, port: { number: 80 }, subset: "v1" } }] },
      "route.cluster",
      "outbound|80|v1|a.shop.example",
    ],
    [
      "weights",
      {
        route: [
          { destination, weight: 1 },
          { destination: other, weight: 3 },
        ],
      },
      "route.weightedClusters",
      "{clusters: [{name: outbound|80||a.shop.example, weight: 1}, {name: outbound|80||b.shop.example, weight: 3}]}",
    ],
    [
      "a weight of zero is left out",
      {
        route: [
          { destination, weight: 0 },
          { destination: other, weight: 100 },
        ],
      },
      "route",
      "{weightedClusters: {clusters: [{name: outbound|80||b.shop.example, weight: 100}]}, timeout: 0s, retryPolicy: {retryOn: connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, numRetries: 2, retryHostPredicate: [{name: envoy.retry_host_predicates.previous_hosts, typedConfig: {PreviousHostsPredicate}}], hostSelectionRetryMaxAttempts: 5}, maxGrpcTimeout: 0s}",
    ],
    [
      "headers of one destination",
      {
        route: [
          {
            destination,
            headers: { request: { add: { "x-a": "1" }, set: { host: "h.example" }, remove: ["x-r", "host"] } },
          },
        ],
      },
      "",
      "{match: {prefix: /}, route: {cluster: outbound|80||a.shop.example, hostRewriteLiteral: h.example, timeout: 0s, retryPolicy: {retryOn: connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, numRetries: 2, retryHostPredicate: [{name: envoy.retry_host_predicates.previous_hosts, typedConfig: {PreviousHostsPredicate}}], hostSelectionRetryMaxAttempts: 5}, maxGrpcTimeout: 0s}, metadata: {filterMetadata: {istio: {config: /apis/networking.istio.io/v1/namespaces/shop/virtual-service/a}}}, decorator: {operation: a.shop.example:80/*}, requestHeadersToAdd: [{header: {key: x-a, value: 1}}], requestHeadersToRemove: [x-r]}",
    ],
    [
      "headers of a destination with a weight",
      {
        route: [
          {
            destination,
            weight: 50,
            headers: {
              request: { set: { ":authority": "h.example" } },
              response: { add: { "x-b": "2" }, remove: ["x-s"] },
            },
          },
          { destination: other, weight: 50 },
        ],
      },
      "route.weightedClusters.clusters.0",
      "{name: outbound|80||a.shop.example, weight: 50, responseHeadersToAdd: [{header: {key: x-b, value: 2}}], responseHeadersToRemove: [x-s], hostRewriteLiteral: h.example}",
    ],
    [
      "headers of the route",
      {
        headers: {
          request: { set: { b: "1", a: "2", Host: "h.example" }, add: { c: "3" } },
          response: { set: { d: "4" }, remove: ["e", ":path"] },
        },
      },
      "",
      "{match: {prefix: /}, route: {cluster: outbound|80||a.shop.example, hostRewriteLiteral: h.example, timeout: 0s, retryPolicy: {retryOn: connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, numRetries: 2, retryHostPredicate: [{name: envoy.retry_host_predicates.previous_hosts, typedConfig: {PreviousHostsPredicate}}], hostSelectionRetryMaxAttempts: 5}, maxGrpcTimeout: 0s}, metadata: {filterMetadata: {istio: {config: /apis/networking.istio.io/v1/namespaces/shop/virtual-service/a}}}, decorator: {operation: a.shop.example:80/*}, requestHeadersToAdd: [{header: {key: a, value: 2}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}, {header: {key: b, value: 1}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}, {header: {key: c, value: 3}}], responseHeadersToAdd: [{header: {key: d, value: 4}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}], responseHeadersToRemove: [e]}",
    ],
    ["a time-out", { timeout: "2.5s" }, "route.timeout", "2.500s"],
    ["no time-out means none", {}, "route.timeout", "0s"],
    ["a time-out of zero", { timeout: "0s" }, "route.timeout", "0s"],
    ["a rewritten prefix", { match: [{ uri: { prefix: "/x" } }], rewrite: { uri: "/y" } }, "route.prefixRewrite", "/y"],
    [
      "a rewritten host",
      { rewrite: { authority: "h.example" } },
      "route",
      "{cluster: outbound|80||a.shop.example, hostRewriteLiteral: h.example, timeout: 0s, retryPolicy: {retryOn: connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, numRetries: 2, retryHostPredicate: [{name: envoy.retry_host_predicates.previous_hosts, typedConfig: {PreviousHostsPredicate}}], hostSelectionRetryMaxAttempts: 5}, maxGrpcTimeout: 0s}",
    ],
    [
      "a rewrite by expression",
      { rewrite: { uriRegexRewrite: { match: "a", rewrite: "b" } } },
      "route.regexRewrite",
      "{pattern: {regex: a}, substitution: b}",
    ],
    [
      "a mirror of everything",
      { mirror: other },
      "route.requestMirrorPolicies",
      "[{cluster: outbound|80||b.shop.example, runtimeFraction: {defaultValue: {numerator: 100}}, traceSampled: false, disableShadowHostSuffixAppend: true}]",
    ],
    [
      "a mirror of whole percents",
      { mirror: other, mirrorPercent: 7 },
      "route.requestMirrorPolicies.0.runtimeFraction",
      "{defaultValue: {numerator: 7}}",
    ],
    [
      "a mirror of an exact share",
      { mirror: other, mirrorPercent: 7, mirrorPercentage: { value: 0.5 } },
      "route.requestMirrorPolicies.0.runtimeFraction",
      "{defaultValue: {numerator: 5000, denominator: MILLION}}",
    ],
    ["a mirror of nothing", { mirror: other, mirrorPercentage: { value: 0 } }, "route.requestMirrorPolicies", "none"],
    ["a mirror of zero percent", { mirror: other, mirrorPercent: 0 }, "route.requestMirrorPolicies", "none"],
    [
      "several mirrors",
      { mirrors: [{ destination: other }, { destination, percentage: { value: 10 } }] },
      "route.requestMirrorPolicies",
      "[{cluster: outbound|80||b.shop.example, runtimeFraction: {defaultValue: {numerator: 100}}, traceSampled: false, disableShadowHostSuffixAppend: true}, {cluster: outbound|80||a.shop.example, runtimeFraction: {defaultValue: {numerator: 100000, denominator: MILLION}}, traceSampled: false, disableShadowHostSuffixAppend: true}]",
    ],
  ],
  retries: [
    [
      "two on other hosts without a finding",
      {},
      "route.retryPolicy",
      "{retryOn: connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, numRetries: 2, retryHostPredicate: [{name: envoy.retry_host_predicates.previous_hosts, typedConfig: {PreviousHostsPredicate}}], hostSelectionRetryMaxAttempts: 5}",
    ],
    ["none", { retries: { attempts: 0 } }, "route.retryPolicy", "none"],
    [
      "their number, time, conditions",
      { retries: { attempts: 3, perTryTimeout: "2s", retryOn: "5xx,503" } },
      "route.retryPolicy",
      "{retryOn: 5xx,retriable-status-codes, numRetries: 3, perTryTimeout: 2s, retryHostPredicate: [{name: envoy.retry_host_predicates.previous_hosts, typedConfig: {PreviousHostsPredicate}}], hostSelectionRetryMaxAttempts: 5, retriableStatusCodes: [503]}",
    ],
    [
      "a back-off and hosts that were tried",
      { retries: { attempts: 1, backoff: "1s", retryIgnorePreviousHosts: false } },
      "route.retryPolicy",
      "{retryOn: connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, numRetries: 1, hostSelectionRetryMaxAttempts: 5, retryBackOff: {baseInterval: 1s}}",
    ],
    [
      "other localities",
      { retries: { attempts: 1, retryRemoteLocalities: true } },
      "route.retryPolicy",
      "{retryOn: connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, numRetries: 1, retryPriority: {name: envoy.retry_priorities.previous_priorities, typedConfig: {updateFrequency: 2, PreviousPrioritiesConfig}}, retryHostPredicate: [{name: envoy.retry_host_predicates.previous_hosts, typedConfig: {PreviousHostsPredicate}}], hostSelectionRetryMaxAttempts: 5}",
    ],
  ],
  filters: [
    [
      "no delay without a fixed one",
      { fault: { delay: { exponentialDelay: "1s", percent: 5 } } },
      "typedPerFilterConfig",
      "{envoy.filters.http.fault: {HTTPFault}}",
    ],
    [
      "a delay in whole percents",
      { fault: { delay: { fixedDelay: "1s", percent: 5 } } },
      "typedPerFilterConfig",
      "{envoy.filters.http.fault: {delay: {fixedDelay: 1s, percentage: {numerator: 5}}, HTTPFault}}",
    ],
    [
      "a delay of an exact share",
      { fault: { delay: { fixedDelay: "1s", percentage: { value: 0.1 } } } },
      "typedPerFilterConfig",
      "{envoy.filters.http.fault: {delay: {fixedDelay: 1s, percentage: {numerator: 1000, denominator: MILLION}}, HTTPFault}}",
    ],
    [
      "an abort by HTTP status",
      { fault: { abort: { httpStatus: 500, percentage: { value: 10 } } } },
      "typedPerFilterConfig",
      "{envoy.filters.http.fault: {abort: {httpStatus: 500, percentage: {numerator: 100000, denominator: MILLION}}, HTTPFault}}",
    ],
    [
      "an abort by gRPC status",
      { fault: { abort: { grpcStatus: "UNAVAILABLE", percentage: { value: 10 } } } },
      "typedPerFilterConfig",
      "{envoy.filters.http.fault: {abort: {percentage: {numerator: 100000, denominator: MILLION}, grpcStatus: 14}, HTTPFault}}",
    ],
    [
      "an unknown gRPC status is OK",
      { fault: { abort: { grpcStatus: "WHAT" } } },
      "typedPerFilterConfig",
      "{envoy.filters.http.fault: {abort: {grpcStatus: 0}, HTTPFault}}",
    ],
    [
      "an abort that answers nothing",
      { fault: { abort: { percentage: { value: 10 } } } },
      "typedPerFilterConfig",
      "{envoy.filters.http.fault: {HTTPFault}}",
    ],
    [
      "origins as matches",
      {
        corsPolicy: {
          allowOrigins: [exact, { regex: "h.*" }],
          allowMethods: ["GET", "PUT"],
          allowHeaders: ["a", "b"],
          exposeHeaders: ["c"],
          maxAge: "10s",
          allowCredentials: true,
        },
      },
      "typedPerFilterConfig",
      "{envoy.filters.http.cors: {allowOriginStringMatch: [{exact: v}, {safeRegex: {regex: h.*}}], allowMethods: GET,PUT, allowHeaders: a,b, exposeHeaders: c, maxAge: 10, allowCredentials: true, filterEnabled: {defaultValue: {numerator: 100}}, forwardNotMatchingPreflights: true, CorsPolicy}}",
    ],
    [
      "origins as names, answers that go on",
      { corsPolicy: { allowOrigin: ["a"], unmatchedPreflights: "IGNORE" } },
      "typedPerFilterConfig",
      "{envoy.filters.http.cors: {allowOriginStringMatch: [{exact: a}], filterEnabled: {defaultValue: {numerator: 100}}, forwardNotMatchingPreflights: false, CorsPolicy}}",
    ],
    [
      "preflights of others are forwarded",
      { corsPolicy: { unmatchedPreflights: "FORWARD" } },
      "typedPerFilterConfig",
      "{envoy.filters.http.cors: {filterEnabled: {defaultValue: {numerator: 100}}, forwardNotMatchingPreflights: true, CorsPolicy}}",
    ],
  ],
};

for (const [area, cases] of Object.entries(tables))
  describe(area, () => {
    for (const [name, http, at, is] of cases) it(name, () => assert.equal(inShort(fieldAt(firstRoute(http), at)), is));
  });

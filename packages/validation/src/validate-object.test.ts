import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemText } from "./problem.ts";
import { validateSemantics } from "./validate-object.ts";

function virtualService(spec: object): Readonly<Record<string, unknown>> {
  return { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "a" }, spec };
}

function anHttpRoute(spec: object): Readonly<Record<string, unknown>> {
  return { apiVersion: "gateway.networking.k8s.io/v1", kind: "HTTPRoute", metadata: { name: "a" }, spec };
}
const routed = (http: object) => virtualService({ hosts: ["a"], http: [{ route: [to("a")], ...http }] });
const matching = (match: object) => routed({ match: [match] });
const setting = (request: object) => routed({ headers: { request } });
const policy = (operation: object) => ({
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name: "a" },
  spec: { rules: [{ to: [{ operation }] }] },
});
/** Not the last route: those before it need a match. */
const matched = (route: object) => ({ match: [{ uri: { exact: "/a" } }], ...route });
const to = (host: string, weight?: number) => ({ destination: { host }, ...(weight !== undefined && { weight }) });

const cases: readonly {
  name: string;
  object: Readonly<Record<string, unknown>>;
  problems: readonly RegExp[];
}[] = [
  { name: "an expression that compiles", object: matching({ uri: { regex: "/v[0-9]+(/.*)?" } }), problems: [] },
  {
    name: "an open bracket in a path",
    object: matching({ uri: { regex: "/([" } }),
    problems: [/^spec\.http\[0\]\.match\[0\]\.uri\.regex: is no regular expression of RE2: .*missing closing \]/],
  },
  {
    name: "what backtracking engines have and RE2 lacks",
    object: matching({ headers: { "x-user": { regex: "(?=a)b" } }, queryParams: { q: { regex: "(a)\\1" } } }),
    problems: [/match\[0\]\.headers\[x-user\]\.regex: /, /match\[0\]\.queryParams\[q\]\.regex: /],
  },
  {
    name: "expressions of rewrites and origins",
    object: routed({
      rewrite: { uriRegexRewrite: { match: "[", rewrite: "/" } },
      corsPolicy: { allowOrigins: [{ regex: "*" }] },
    }),
    problems: [/corsPolicy\.allowOrigins\[0\]\.regex: /, /rewrite\.uriRegexRewrite\.match: /],
  },
  {
    name: "weights that make more or less than 100",
    object: virtualService({
      http: [matched({ route: [to("a", 300), to("b", 5)] }), { route: [to("a", 1), to("b", 2)] }],
    }),
    problems: [],
  },
  {
    name: "several destinations of which none gets anything",
    object: virtualService({
      hosts: ["a"],
      http: [{ route: [to("a", 0), to("b")] }],
      tcp: [{ route: [to("a"), to("b")] }],
    }),
    problems: [/^spec\.http\[0\]\.route: no destination/, /^spec\.tcp\[0\]\.route: no destination/],
  },
  { name: "one destination needs no weight", object: virtualService({ http: [{ route: [to("a")] }] }), problems: [] },
  {
    name: "weights below nothing and beyond what can be added up",
    object: virtualService({
      http: [
        matched({ route: [to("a", -1), to("b", 3)] }),
        { route: [to("a", 4_000_000_000), to("b", 4_000_000_000)] },
      ],
    }),
    problems: [/^spec\.http\[0\]\.route\[0\]\.weight: weight -1 < 0/, /^spec\.http\[1\]\.route: the weights make/],
  },
  {
    name: "routes that lead nowhere",
    object: virtualService({ hosts: ["a"], http: [matched({}), { route: [to("")] }], tcp: [{ match: [] }] }),
    problems: [
      /^spec\.http\[0\]: HTTP route, redirect or direct_response is required/,
      /^spec\.http\[1\]\.route\[0\]\.destination\.host: /,
      /^spec\.tcp\[0\]\.route: a destination is required/,
    ],
  },
  {
    name: "a delegate and a redirect are routes, too",
    object: virtualService({ hosts: ["a"], http: [matched({ delegate: { name: "b" } }), { redirect: { uri: "/b" } }] }),
    problems: [],
  },
  {
    name: "statuses that are none",
    object: virtualService({
      http: [matched({ directResponse: { status: 99 } }), { route: [to("a")], fault: { abort: { httpStatus: 700 } } }],
    }),
    problems: [/directResponse\.status: HTTP status 99 is not in range/, /fault\.abort\.httpStatus: HTTP status 700/],
  },
  {
    name: "redirects to nowhere and by no redirect's code",
    object: virtualService({ http: [matched({ redirect: {} }), { redirect: { uri: "/b", redirectCode: 200 } }] }),
    problems: [/redirect: must specify URI, authority, scheme, or port/, /redirect\.redirectCode: 200 is none of/],
  },
  {
    name: "headers without a name, with two lines, with a stray percent sign",
    object: setting({
      set: { "": "a", b: "1\n2", c: "100%" },
      add: { d: "100%% %REQ(x-a?y)% %START_TIME%" },
      remove: [""],
    }),
    problems: [
      /set\[\]: a header has a name/,
      /set\[b\]: /,
      /set\[c\]: a percent sign/,
      /remove\[0\]: a header has a name/,
    ],
  },
  {
    name: "ports of policies that are none",
    object: policy({ ports: ["80", "http"], notPorts: ["70000"] }),
    problems: [/^spec\.rules\[0\]\.to\[0\]\.operation\.ports\[1\]: "http" is no port/, /notPorts\[0\]: /],
  },
  {
    name: "path templates as Envoy reads them",
    object: policy({ paths: ["/a/{*}/b/{**}", "/a*", "*", "/{*}"], notPaths: ["/a/*b"] }),
    problems: [],
  },
  {
    name: "path templates that Envoy does not survive",
    object: policy({ paths: ["/{**}/{*}", "/a/{*", "/{a}", "/{*}/b*"] }),
    problems: [/is not the last operator/, /only as/, /only as/, /only as/],
  },
  {
    name: "matches of nothing",
    object: routed({
      match: [{ uri: { regex: "" }, headers: { a: { prefix: "" }, b: { exact: "" } } }],
      corsPolicy: { allowOrigins: [{ prefix: "" }] },
      rewrite: { uriRegexRewrite: { match: "", rewrite: "/" } },
    }),
    problems: [/uri\.regex: /, /headers\[a\]\.prefix: /, /allowOrigins\[0\]\.prefix: /, /uriRegexRewrite\.match: /],
  },
  {
    name: "hashes without a name and shares beyond all",
    object: {
      apiVersion: "networking.istio.io/v1",
      kind: "DestinationRule",
      spec: {
        host: "a",
        trafficPolicy: { loadBalancer: { consistentHash: { httpHeaderName: "" } } },
        subsets: [
          { name: "v1", trafficPolicy: { outlierDetection: { maxEjectionPercent: 105, minHealthPercent: 50 } } },
        ],
      },
    },
    problems: [
      /^spec\.trafficPolicy\.loadBalancer\.consistentHash\.httpHeaderName: /,
      /^spec\.subsets\[0\].*maxEjectionPercent: /,
    ],
  },
  {
    name: "a host name among fixed addresses",
    object: {
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      spec: {
        hosts: ["a.example"],
        resolution: "STATIC",
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        endpoints: [{ address: "db" }, { address: "10.0.0.1" }, { address: "fd00::1" }, { address: "unix:///a" }],
      },
    },
    problems: [/^spec\.endpoints\[0\]\.address: "db" is no IP address/],
  },
  {
    name: "ServiceEntries with hosts that no DNS name can be",
    object: {
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      spec: { hosts: [`${"a.".repeat(2_000)}example`, `${"a".repeat(64)}.example`, `*.${"a".repeat(63)}.example`] },
    },
    problems: [
      /^spec\.hosts\[0\]: a host has at most 253 characters, this one has 4007/,
      /^spec\.hosts\[1\]: a label of a host has at most 63 characters/,
    ],
  },
  {
    name: "HTTPRoutes that have another form",
    object: anHttpRoute({
      parentRefs: {},
      rules: [{ backendRefs: [{ port: "80" }], matches: [{ path: "/" }] }, 5, null],
    }),
    problems: [
      /^spec\.parentRefs: must be a list$/,
      /^spec\.rules\[0\]\.backendRefs\[0\]\.port: must be an integer$/,
      /^spec\.rules\[0\]\.matches\[0\]\.path: must be an object$/,
      /^spec\.rules\[1\]: must be an object$/,
      /^spec\.rules\[2\]: must not be null$/,
    ],
  },
  {
    name: "HTTPRoutes that Envoy would refuse",
    object: anHttpRoute({
      rules: [
        {
          matches: [
            { path: { type: "RegularExpression", value: "/([" }, headers: [{ name: "a", type: "Exact", value: "[" }] },
            { queryParams: [{ name: "q", type: "RegularExpression", value: "" }] },
          ],
          filters: [{ requestHeaderModifier: { set: [{ name: "a", value: "100%" }], remove: [""] } }],
          backendRefs: [{ filters: [{ responseHeaderModifier: { add: [{ name: "", value: "b" }] } }] }],
        },
      ],
    }),
    problems: [
      /^spec\.rules\[0\]\.matches\[0\]\.path\.value: is no regular expression/,
      /^spec\.rules\[0\]\.matches\[1\]\.queryParams\[0\]\.value: must not be empty/,
      /^spec\.rules\[0\]\.filters\[0\]\.requestHeaderModifier\.set\[0\]\.value: a percent sign/,
      /^spec\.rules\[0\]\.filters\[0\]\.requestHeaderModifier\.remove\[0\]: a header has a name/,
      /^spec\.rules\[0\]\.backendRefs\[0\]\.filters\[0\]\.responseHeaderModifier\.add\[0\]\.name: a header has a name/,
    ],
  },
  {
    name: "GRPCRoutes whose methods are expressions",
    object: {
      ...anHttpRoute({
        rules: [{ matches: [{ method: { type: "RegularExpression", service: "a(", method: "b.*" } }] }],
      }),
      kind: "GRPCRoute",
    },
    problems: [/^spec\.rules\[0\]\.matches\[0\]\.method\.service: is no regular expression/],
  },
  {
    name: "another group's kind of that name",
    object: {
      apiVersion: "example.com/v1",
      kind: "VirtualService",
      spec: { http: [{ match: [{ uri: { regex: "[" } }] }] },
    },
    problems: [],
  },
];

describe("validateSemantics", () => {
  for (const { name, object, problems } of cases) {
    it(name, () => {
      const found = validateSemantics(object).map(problemText);
      assert.equal(found.length, problems.length, found.join("\n"));
      for (const [i, pattern] of problems.entries()) assert.match(found[i] ?? "", pattern);
    });
  }
});

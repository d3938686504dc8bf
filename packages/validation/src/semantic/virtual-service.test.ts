import { describeRules } from "./rules.fixture.ts";

const route = [{ destination: { host: "a" } }];
const http = (...routes: readonly object[]) => ({ hosts: ["a"], http: routes });
const matching = (match: object) => http({ match: [match], route });
const mesh = { hosts: ["a"], http: [{ route }] };
const atGateway = { ...mesh, gateways: ["gw"] };
const doing = (action: object) => http({ ...action });
const also = (more: object) => http({ route, ...more });
const tls = (sniHosts: readonly string[], more: object = {}) => ({
  hosts: ["*.a.example"],
  tls: [{ match: [{ sniHosts, ...more }], route }],
});
const tcp = (match: object) => ({ hosts: ["a"], tcp: [{ match: [match], route }] });

describeRules("networking.istio.io/v1", "VirtualService", [
  [
    "hosts are host names",
    { ...mesh, hosts: ["*.a.example"] },
    { ...mesh, hosts: ["a b"] },
    /^spec\.hosts\[0\]: "a b" is no host/,
  ],
  [
    "* is for gateways",
    { ...atGateway, hosts: ["*"] },
    { ...mesh, hosts: ["*"] },
    /hosts\[0\]: \* is for gateways only/,
  ],
  ["a host stands once", mesh, { ...mesh, hosts: ["a", "a"] }, /hosts\[1\]: "a" stands twice/],
  ["no host covers another", mesh, { ...mesh, hosts: ["*.a", "b.a"] }, /hosts\[1\]: "b\.a" is covered by "\*\.a"/],
  [
    "gateways are names",
    { ...atGateway, gateways: ["ns/gw"] },
    { ...atGateway, gateways: ["ns/*"] },
    /gateways\[0\]: "\*" is no name/,
  ],
  [
    "gateways have no domain",
    atGateway,
    { ...atGateway, gateways: ["gw.ns.svc"] },
    /^warning spec\.gateways\[0\]: names with dots are an old form, write ns\/gw/,
  ],
  [
    "delegates have HTTP routes only",
    { http: [{ route }] },
    { tcp: [{ route }] },
    /spec\.tcp: must not be set without hosts/,
  ],
  [
    "delegates hand on no further",
    { http: [{ route }] },
    { http: [{ delegate: { name: "b" }, route }] },
    /delegate: must not be set in a delegate/,
  ],
  ["there are routes", mesh, { hosts: ["a"] }, /^spec: needs http, tls or tcp/],
  ["routes lead somewhere", mesh, http({}), /^spec\.http\[0\]: HTTP route, redirect/],
  [
    "roots only hand on",
    doing({ delegate: { name: "b" } }),
    doing({ delegate: { name: "b" }, route }),
    /route: must not be set beside delegate/,
  ],
  [
    "redirects exclude the rest",
    doing({ redirect: { uri: "/" } }),
    doing({ redirect: { uri: "/" }, route, rewrite: { uri: "/" } }),
    /http\[0\]\.route: must not be set beside redirect/,
    /rewrite: must not be set beside redirect/,
  ],
  [
    "an empty list of routes is none",
    doing({ redirect: { uri: "/" }, route: [] }),
    doing({ redirect: { uri: "/" }, route }),
    /http\[0\]\.route: must not be set beside redirect/,
  ],
  ["redirects have a target", doing({ redirect: { port: 80 } }), doing({ redirect: {} }), /redirect: must specify/],
  [
    "redirects have their codes",
    doing({ redirect: { uri: "/", redirectCode: 307 } }),
    doing({ redirect: { uri: "/", redirectCode: 305 } }),
    /305 is none of/,
  ],
  [
    "prefixes are redirected of prefixes",
    http({ match: [{ uri: { prefix: "/a" } }], redirect: { prefixRewrite: "/b" } }),
    http({ match: [{ uri: { exact: "/a" } }], redirect: { prefixRewrite: "/b" } }),
    /prefixRewrite: needs matches by prefix/,
  ],
  [
    "responses have statuses",
    doing({ directResponse: { status: 503 } }),
    doing({ directResponse: { status: 700 } }),
    /status 700/,
  ],
  [
    "responses are small",
    doing({ directResponse: { status: 200, body: { string: "a" } } }),
    doing({ directResponse: { status: 200, body: { string: "a".repeat(200_000) } } }),
    /^warning .*body: has 200000 bytes/,
  ],
  [
    "statuses of gRPC are known",
    also({ fault: { abort: { grpcStatus: "NOT_FOUND" } } }),
    also({ fault: { abort: { grpcStatus: "GONE" } } }),
    /grpcStatus: "GONE"/,
  ],
  [
    "faults do something",
    also({ fault: { delay: { fixedDelay: "1s" } } }),
    also({ fault: {} }),
    /fault: needs abort or delay/,
  ],
  [
    "aborts have a status",
    also({ fault: { abort: { httpStatus: 503 } } }),
    also({ fault: { abort: {} } }),
    /^warning .*abort: has no effect/,
  ],
  [
    "shares are percentages",
    also({ fault: { delay: { fixedDelay: "1s", percentage: { value: 0.5 } } } }),
    also({ fault: { delay: { fixedDelay: "1s", percentage: { value: 0.00001 } } } }),
    /percentage 0\.00001/,
  ],
  ["rewrites rewrite", also({ rewrite: { uri: "/" } }), also({ rewrite: {} }), /rewrite: needs uri/],
  [
    "paths are rewritten once",
    also({ rewrite: { authority: "b" } }),
    also({ rewrite: { uri: "/", uriRegexRewrite: { match: "a", rewrite: "b" } } }),
    /uriRegexRewrite: must not be set beside uri/,
  ],
  [
    "authorities are set once",
    also({ headers: { request: { set: { host: "b" } } } }),
    also({ rewrite: { authority: "b" }, headers: { request: { set: { Host: "c" } } } }),
    /set\[Host\]: the authority is set already/,
  ],
  [
    "pseudo headers stay",
    also({ headers: { response: { set: { "x-a": "b" } } } }),
    also({ headers: { response: { set: { ":status": "b" } } } }),
    /":status" cannot be changed/,
  ],
  [
    "commands are Envoy's",
    also({ headers: { request: { set: { a: "%REQ(x)%%% %START_TIME(%s)%" } } } }),
    also({ headers: { request: { set: { a: "%NOBODY%" } } } }),
    /supports no command %NOBODY%/,
  ],
  [
    "expressions are of RE2",
    matching({ uri: { regex: "/a.*" } }),
    matching({ uri: { regex: "(?=a)" } }),
    /uri\.regex: is no regular expression/,
  ],
  [
    "expressions are short",
    matching({ uri: { regex: "a" } }),
    matching({ uri: { regex: "a".repeat(1025) } }),
    /at most 1024 characters/,
  ],
  [
    "prefixes of paths alone may be empty",
    matching({ uri: { prefix: "" } }),
    matching({ method: { prefix: "" } }),
    /method\.prefix: must not be empty/,
  ],
  [
    "matched headers have names",
    matching({ headers: { "x-a": { exact: "" } } }),
    matching({ headers: { "x a": {} } }),
    /headers\[x a\]: "x a" is no name/,
  ],
  [
    "claims are matched at gateways",
    { ...matching({ headers: { "@request.auth.claims.a": { exact: "b" } } }), gateways: ["gw"] },
    matching({ headers: { "@request.auth.claims.a": { exact: "b" } } }),
    /claims of tokens are matched at gateways only/,
  ],
  [
    "absence needs no expression",
    matching({ withoutHeaders: { a: { regex: "*" } } }),
    matching({ headers: { a: { regex: "*" } } }),
    /headers\[a\]\.regex: is no regular/,
  ],
  [
    "namespaces of sources are names",
    matching({ sourceNamespace: "shop" }),
    matching({ sourceNamespace: "a b" }),
    /sourceNamespace: "a b" is no name/,
  ],
  [
    "labels are labels",
    matching({ sourceLabels: { "app.io/a": "b" } }),
    matching({ sourceLabels: { "a b": "c" } }),
    /sourceLabels\[a b\]: "a b" is no name of a label/,
  ],
  [
    "origins match something",
    also({ corsPolicy: { allowOrigins: [{ exact: "a" }] } }),
    also({ corsPolicy: { allowOrigins: [{ prefix: "" }] } }),
    /allowOrigins\[0\]\.prefix: must not be empty/,
  ],
  [
    "methods are of HTTP",
    also({ corsPolicy: { allowMethods: ["GET", "*"] } }),
    also({ corsPolicy: { allowMethods: ["get"] } }),
    /"get" is no method/,
  ],
  [
    "ages count seconds",
    also({ corsPolicy: { maxAge: "2s" } }),
    also({ corsPolicy: { maxAge: "2.5s" } }),
    /maxAge: counts whole seconds/,
  ],
  [
    "retries have known causes",
    also({ retries: { attempts: 1, retryOn: "5xx,503" } }),
    also({ retries: { attempts: 1, retryOn: "5xx,often" } }),
    /retryOn: "often" is no retry condition/,
  ],
  [
    "no retries need no settings",
    also({ retries: { attempts: 0 } }),
    also({ retries: { attempts: 0, retryOn: "5xx" } }),
    /retryOn: must not be set where attempts is 0/,
  ],
  ["timeouts are durations", also({ timeout: "1.5s" }), also({ timeout: "300ns" }), /timeout: 300ns is less than 1ms/],
  [
    "durations can be counted",
    also({ timeout: "24h" }),
    also({ timeout: "9999999999s" }),
    /timeout: .* more than 292 years/,
  ],
  ["durations are durations", also({ timeout: "1h30m" }), also({ timeout: "fast" }), /timeout: "fast" is no duration/],
  [
    "durations are whole milliseconds",
    also({ timeout: "0.005s" }),
    also({ timeout: "1.0000005s" }),
    /more precise than a millisecond/,
  ],
  [
    "mirrors have percentages",
    also({ mirrors: [{ destination: { host: "b" } }] }),
    also({ mirrors: [{ destination: { host: "b" }, percentage: { value: 101 } }] }),
    /percentage 101/,
  ],
  [
    "one field names mirrors",
    also({ mirror: { host: "b" } }),
    also({ mirror: { host: "b" }, mirrors: [{ destination: { host: "c" } }] }),
    /mirrors: must not be set beside mirror/,
  ],
  [
    "old percentages are named",
    also({ mirror: { host: "b" } }),
    also({ mirror: { host: "b" }, mirrorPercent: 50 }),
    /^warning .*mirrorPercent: is deprecated/,
  ],
  [
    "destinations are hosts",
    http({ route: [{ destination: { host: "a", subset: "v1", port: { number: 80 } } }] }),
    http({ route: [{ destination: { host: "*", subset: "v 1", port: { number: 0 } } }] }),
    /host: \* is no destination/,
    /subset: "v 1"/,
    /port\.number: 0 is no port/,
  ],
  ["server names are hosts", tls(["b.a.example"]), tls(["b.example"]), /sniHosts\[0\]: "b\.example" is none of/],
  ["addresses are no server names", tls(["b.a.example"]), tls(["10.0.0.1"]), /^warning .*is an IP address/],
  [
    "names of networks' gateways have a form",
    { ...tls(["outbound_.80_._.a"]), hosts: ["outbound_.80_._.a"], gateways: ["gw"] },
    { ...tls(["outbound_.x_._.a"]), hosts: ["*"], gateways: ["gw"] },
    /not of the form outbound_/,
  ],
  [
    "TLS routes match",
    tls(["b.a.example"]),
    { hosts: ["a"], tls: [{ route }] },
    /match: a TLS route has at least one match/,
  ],
  [
    "subnets are ranges",
    tcp({ destinationSubnets: ["10.0.0.0/8"] }),
    tcp({ destinationSubnets: ["10.0.0.0/33"] }),
    /destinationSubnets\[0\]: .*neither an IP address nor a range/,
  ],
  [
    "exports name namespaces",
    { ...mesh, exportTo: ["."] },
    { ...mesh, exportTo: [".", "shop"] },
    /exportTo\[1\]: "shop" is exported to twice/,
  ],
  [
    "* is exported to alone",
    { ...mesh, exportTo: ["*"] },
    { ...mesh, exportTo: ["*", "b"] },
    /exportTo: \* stands for all namespaces and alone/,
  ],
  [
    "only the last route takes everything",
    http({ match: [{ uri: { exact: "/" } }], route }, { route }),
    http({ route }, { match: [{ uri: { exact: "/" } }], route }),
    /^warning spec\.http\[1\]: is never used: spec\.http\[0\]/,
  ],
  [
    "matches stand once",
    http({ match: [{ uri: { prefix: "/b" } }], route }, { match: [{ uri: { prefix: "/a" } }], route }),
    http({ match: [{ name: "x", uri: { prefix: "/a" } }], route }, { match: [{ uri: { prefix: "/a" } }], route }),
    /^warning spec\.http\[1\]\.match\[0\]: is never met/,
    /^warning spec\.http\[1\]: is never used/,
  ],
  [
    "longer prefixes stand first",
    http({ match: [{ uri: { prefix: "/a/b" } }], route }, { match: [{ uri: { prefix: "/a" } }], route }),
    http({ match: [{ uri: { prefix: "/a" } }], route }, { match: [{ uri: { prefix: "/a/b" } }], route }),
    /^warning spec\.http\[1\]\.match\[0\]: is never met: .* prefix "\/a"/,
  ],
  [
    "prefixes of other headers do not cover",
    http(
      { match: [{ uri: { prefix: "/a" }, headers: { name: { exact: "x" } } }], route },
      { match: [{ uri: { prefix: "/a/b" } }], route },
    ),
    http({ match: [{ uri: { prefix: "/a" } }, { uri: { prefix: "/a" } }], route }),
    /^warning spec\.http\[0\]\.match\[1\]: is never met/,
  ],
]);

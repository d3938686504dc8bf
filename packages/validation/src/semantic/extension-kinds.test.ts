import { describeRules } from "./rules.fixture.ts";

const module = { url: "oci://a.example/b" };
describeRules("extensions.istio.io/v1alpha1", "WasmPlugin", [
  ["modules have a URL", module, {}, /^spec\.url: must not be empty/],
  ["schemes are known", { url: "a.example/b:v1" }, { url: "ftp://a/b" }, /url: scheme ftp is none of/],
  [
    "digests are digests",
    { ...module, sha256: "a".repeat(64) },
    { ...module, sha256: "A".repeat(64) },
    /sha256: .* is no SHA-256 digest/,
  ],
  [
    "names have a bound",
    { ...module, pluginName: "a" },
    { ...module, pluginName: "a".repeat(257) },
    /pluginName: has at most 256/,
  ],
  [
    "variables have names",
    { ...module, vmConfig: { env: [{ name: "A", value: "b" }] } },
    { ...module, vmConfig: { env: [{ value: "b" }] } },
    /env\[0\]\.name: must not be empty/,
  ],
  [
    "variables are set once",
    { ...module, vmConfig: { env: [{ name: "A" }] } },
    { ...module, vmConfig: { env: [{ name: "A" }, { name: "A" }] } },
    /env\[1\]\.name: is set twice/,
  ],
  [
    "the host's values are the host's",
    { ...module, vmConfig: { env: [{ name: "A", valueFrom: "HOST" }] } },
    { ...module, vmConfig: { env: [{ name: "A", valueFrom: "HOST", value: "b" }] } },
    /env\[0\]\.value: must not be set/,
  ],
  [
    "ports are ports",
    { ...module, match: [{ ports: [{ number: 80 }] }] },
    { ...module, match: [{ ports: [{ number: 0 }] }] },
    /number: 0 is no port/,
  ],
]);

const lua = { inlineCode: "function envoy_on_request() end" };
describeRules("extensions.istio.io/v1alpha1", "TrafficExtension", [
  ["one extension", { lua }, { lua, wasm: module }, /^spec: needs either wasm or lua/],
  ["scripts are not empty", { lua }, { lua: { inlineCode: "" } }, /inlineCode: must not be empty/],
  ["scripts have a bound", { lua }, { lua: { inlineCode: "a".repeat(65_537) } }, /inlineCode: has 65537 bytes/],
  ["modules are checked as plugins are", { wasm: module }, { wasm: {} }, /wasm\.url: must not be empty/],
]);

const tags = (tag: object) => ({ tracing: [{ customTags: { a: tag } }] });
const override = (tag: object) => ({ metrics: [{ overrides: [{ tagOverrides: { a: tag } }] }] });
const logFilter = (expression?: string) => ({ accessLogging: [{ filter: { expression } }] });
describeRules("telemetry.istio.io/v1", "Telemetry", [
  [
    "providers have names",
    { metrics: [{ providers: [{ name: "a" }] }] },
    { accessLogging: [{ providers: [{ name: "" }] }] },
    /providers\[0\]\.name: must not be empty/,
  ],
  ["one tracing counts", { tracing: [{}] }, { tracing: [{}, {}] }, /^warning spec\.tracing: only the first member/],
  [
    "one provider gets traces",
    { tracing: [{ providers: [{ name: "a" }] }] },
    { tracing: [{ providers: [{ name: "a" }, { name: "b" }] }] },
    /^warning .*providers: only the first provider/,
  ],
  [
    "shares are percentages",
    { tracing: [{ randomSamplingPercentage: 0.5 }] },
    { tracing: [{ randomSamplingPercentage: 101 }] },
    /percentage 101/,
  ],
  [
    "tags have values",
    tags({ literal: { value: "a" } }),
    tags({ header: { name: "" } }),
    /header\.name: must not be empty/,
  ],
  ["set tags have values", override({ value: "a" }), override({}), /value: is required for operation UPSERT/],
  [
    "removed tags have none",
    override({ operation: "REMOVE" }),
    override({ operation: "REMOVE", value: "a" }),
    /value: must not be set for operation REMOVE/,
  ],
  [
    "metrics have names",
    { metrics: [{ overrides: [{ match: { customMetric: "a" } }] }] },
    { metrics: [{ overrides: [{ match: { customMetric: "" } }] }] },
    /customMetric: must not be empty/,
  ],
  [
    "filters of logs are expressions",
    logFilter("response.code >= 400 || !has(request.headers.a)"),
    logFilter("response.code >="),
    /filter\.expression: is no CEL expression: Unexpected token/,
  ],
  ["… not empty ones", { accessLogging: [{}] }, logFilter(), /filter\.expression: is no CEL expression/],
  [
    "… in which has() takes a field, wherever it stands",
    logFilter("[1].exists(x, has(x.a)) && (a ? has(b.c) : true)"),
    logFilter('a || [has(request.headers["a"])]'),
    /has\(\) takes a field/,
  ],
  // Syntax that the parser does not support is CEL all the same.
  ["… messages pass", logFilter("a == google.protobuf.Duration{seconds: 1}"), logFilter("{a"), /no CEL/],
  ["… names between backticks pass", logFilter("request.`a-b` > .5"), logFilter("a b"), /no CEL/],
  ["… of bounded depth", logFilter("((a))"), logFilter("(".repeat(50_000)), /no CEL/],
]);

describeRules("networking.istio.io/v1beta1", "ProxyConfig", [
  ["threads are counted", { concurrency: 0 }, { concurrency: -1 }, /concurrency: must not be negative/],
]);

const internals = /^warning spec: patches Envoy's own configuration/;
const patch = (more: object, operation = "REMOVE") => ({
  configPatches: [{ applyTo: "CLUSTER", patch: { operation }, ...more }],
});
const filter = (one: object) =>
  patch({ applyTo: "NETWORK_FILTER", match: { listener: { filterChain: { filter: one } } } });
describeRules("networking.istio.io/v1alpha3", "EnvoyFilter", [
  ["patches are of Envoy's own configuration", {}, {}, internals],
  ["patches name a place", {}, { configPatches: [{ patch: { operation: "ADD" } }] }, internals, /applyTo: is required/],
  ["patches do something", {}, { configPatches: [{ applyTo: "CLUSTER" }] }, internals, /patch: is required/],
  [
    "patches have an operation",
    {},
    { configPatches: [{ applyTo: "CLUSTER", patch: {} }] },
    internals,
    /operation: is required/,
  ],
  ["patches have values", {}, patch({}, "ADD"), internals, /value: is required for operation ADD/],
  [
    "versions are expressions",
    {},
    patch({ match: { proxy: { proxyVersion: "(" } } }),
    internals,
    /proxyVersion: is no regular expression/,
  ],
  [
    "versions are short",
    {},
    patch({ match: { proxy: { proxyVersion: "1".repeat(1_025) } } }),
    internals,
    /^warning .*proxyVersion: has more than 1024 characters and no effect/,
  ],
  [
    "matches fit the place",
    {},
    patch({ match: { listener: {} } }),
    internals,
    /match\.listener: cannot be matched for CLUSTER, match cluster/,
  ],
  ["filters have names", {}, filter({}), internals, /filter\.name: must not be empty/],
  [
    "old names are named",
    {},
    filter({ name: "envoy.tcp_proxy" }),
    internals,
    /^warning .*name: is an old name, write envoy\.filters\.network\.tcp_proxy/,
  ],
  [
    "inner filters are of HTTP",
    {},
    filter({ name: "envoy.filters.network.tcp_proxy", subFilter: { name: "a" } }),
    internals,
    /subFilter: can be matched for HTTP_FILTER only/,
    /subFilter: can be matched within/,
  ],
  [
    "types are of the third version",
    {},
    {
      configPatches: [
        {
          applyTo: "CLUSTER",
          patch: {
            operation: "ADD",
            value: {
              typed_config: { "@type": "type.googleapis.com/envoy.config.filter.network.ext_authz.v2.ExtAuthz" },
            },
          },
        },
      ],
    },
    internals,
    /value: names a type of Envoy's v2 API/,
  ],
]);

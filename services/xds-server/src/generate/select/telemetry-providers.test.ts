/** Providers of access logs and traces, and what Telemetry makes of them, as the fields of Envoy's listeners. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../testing/mesh.ts";

/** Its name, the provider `p`, the Telemetry that uses it, the field of the connection manager of HTTP port 80, and what it is. */
type Case = readonly [name: string, provider: JsonObject, telemetry: JsonObject, at: string, is: string];

function managerOf(provider: JsonObject, telemetry: JsonObject, version = ""): JsonObject | undefined {
  const core = aKubeMesh(
    [
      anEntry("a"),
      anEntry("collector", {
        hosts: ["collector.shop.example"],
        ports: [{ number: 4317, name: "grpc", protocol: "GRPC" }],
      }),
      anObject("Telemetry", "shop/all", telemetry),
    ],
    { mesh: { extensionProviders: [{ name: "p", ...provider }] } },
  );
  const proxy = aSidecar("shop", {
    LABELS: { app: "web" },
    WORKLOAD_NAME: "web-v1",
    CLUSTER_ID: "c1",
    ISTIO_VERSION: version,
  });
  const listener = resourceOf(core, proxy, typeUrl.listener, "0.0.0.0_80");
  return fieldAt(listener, "filterChains.0.filters.0.typedConfig") as JsonObject | undefined;
}

const at = (more: JsonObject = {}) => ({ service: "collector.shop.example", port: 4317, ...more });
const logging = (more: JsonObject = {}) => ({ accessLogging: [{ providers: [{ name: "p" }], ...more }] });
const tracing = (more: JsonObject = {}) => ({ tracing: [{ providers: [{ name: "p" }], ...more }] });
const file = { envoyFileAccessLog: { path: "/dev/stdout" } };
const zipkin = { zipkin: at() };
const byId = { useRequestIdForTraceSampling: false };
const atId = "requestIdExtension.typedConfig.useRequestIdForTraceSampling";

const exporter = { path: "/v1/traces", timeout: "3s", headers: [{ name: "x-a", value: "1" }] };

const tables: Readonly<Record<string, readonly Case[]>> = {
  "access logs": [
    ["of a file in the mesh's form", file, logging(), "accessLog.0.typedConfig.path", "/dev/stdout"],
    [
      "as a line of the provider's own",
      { envoyFileAccessLog: { path: "/x", logFormat: { text: "%PROTOCOL%" } } },
      logging(),
      "accessLog.0.typedConfig",
      "{path: /x, logFormat: {textFormatSource: {inlineString: %PROTOCOL%\n}}, FileAccessLog}",
    ],
    [
      "as fields",
      { envoyFileAccessLog: { path: "/x", logFormat: { labels: { b: "%PROTOCOL%", a: "x" } } } },
      logging(),
      "accessLog.0.typedConfig",
      "{path: /x, logFormat: {jsonFormat: {a: x, b: %PROTOCOL%}, jsonFormatOptions: {}}, FileAccessLog}",
    ],
    [
      "as fields without values that are not known",
      { envoyFileAccessLog: { path: "/x", logFormat: { labels: { a: "x" } }, omitEmptyValues: true } },
      logging(),
      "accessLog.0.typedConfig",
      "{path: /x, logFormat: {jsonFormat: {a: x}, omitEmptyValues: true, jsonFormatOptions: {}}, FileAccessLog}",
    ],
    [
      "filtered by an expression",
      file,
      logging({ filter: { expression: "response.code >= 400" } }),
      "accessLog.0.filter",
      "{extensionFilter: {name: envoy.access_loggers.extension_filters.cel, typedConfig: {expression: response.code >= 400, ExpressionFilter}}}",
    ],
    ["switched off", file, logging({ disabled: true }), "accessLog", "none"],
    ["of calls that come in alone", file, logging({ match: { mode: "SERVER" } }), "accessLog", "none"],
    [
      "of calls that go out",
      file,
      logging({ match: { mode: "CLIENT" } }),
      "accessLog.0.name",
      "envoy.access_loggers.file",
    ],
    [
      "of OpenTelemetry",
      { envoyOtelAls: at() },
      logging(),
      "accessLog.0.typedConfig.commonConfig",
      "{logName: otel_envoy_accesslog, grpcService: {envoyGrpc: {clusterName: outbound|4317||collector.shop.example, authority: collector.shop.example}}, filterStateObjectsToLog: [upstream_peer, downstream_peer, wasm.upstream_peer, wasm.upstream_peer_id, wasm.downstream_peer, wasm.downstream_peer_id], transportApiVersion: V3}",
    ],
    [
      "of OpenTelemetry with a name and fields",
      { envoyOtelAls: at({ logName: "n", logFormat: { text: "t", labels: { a: "b" } } }) },
      logging(),
      "accessLog.0.typedConfig",
      "{commonConfig: {logName: n, grpcService: {envoyGrpc: {clusterName: outbound|4317||collector.shop.example, authority: collector.shop.example}}, filterStateObjectsToLog: [upstream_peer, downstream_peer, wasm.upstream_peer, wasm.upstream_peer_id, wasm.downstream_peer, wasm.downstream_peer_id], transportApiVersion: V3}, body: {stringValue: t}, attributes: {values: [{key: a, value: {stringValue: b}}]}, disableBuiltinLabels: true, OpenTelemetryAccessLogConfig}",
    ],
    [
      "of OpenTelemetry with an operator of an extension",
      { envoyOtelAls: at({ logFormat: { text: "t", labels: { a: "%REQ_WITHOUT_QUERY(:PATH)%" } } }) },
      logging(),
      "accessLog.0.typedConfig.formatters",
      "[{name: envoy.formatter.req_without_query, typedConfig: {ReqWithoutQuery}}]",
    ],
    [
      "of a gRPC service for HTTP",
      {
        envoyHttpAls: at({
          additionalRequestHeadersToLog: ["x-a"],
          additionalResponseHeadersToLog: ["x-b"],
          additionalResponseTrailersToLog: ["x-c"],
          filterStateObjectsToLog: ["s"],
        }),
      },
      logging(),
      "accessLog.0",
      "{name: envoy.access_loggers.http_grpc, typedConfig: {commonConfig: {logName: http_envoy_accesslog, grpcService: {envoyGrpc: {clusterName: outbound|4317||collector.shop.example, authority: collector.shop.example}}, filterStateObjectsToLog: [s], transportApiVersion: V3}, additionalRequestHeadersToLog: [x-a], additionalResponseHeadersToLog: [x-b], additionalResponseTrailersToLog: [x-c], HttpGrpcAccessLogConfig}}",
    ],
    [
      "of a gRPC service for TCP, which HTTP takes too",
      { envoyTcpAls: at({ filterStateObjectsToLog: ["s"], logName: "n" }) },
      logging(),
      "accessLog",
      "[{name: envoy.tcp_grpc_access_log, typedConfig: {commonConfig: {logName: n, grpcService: {envoyGrpc: {clusterName: outbound|4317||collector.shop.example, authority: collector.shop.example}}, filterStateObjectsToLog: [s], transportApiVersion: V3}, TcpGrpcAccessLogConfig}}]",
    ],
    ["of an unknown provider", {}, logging(), "accessLog", "none"],
    ["of an unknown service", { envoyOtelAls: { service: "no.example", port: 1 } }, logging(), "accessLog", "none"],
  ],
  tracing: [
    ["none without a provider", {}, {}, "tracing.provider", "none"],
    [
      "Zipkin",
      zipkin,
      tracing(),
      "tracing.provider",
      "{name: envoy.tracers.zipkin, typedConfig: {traceId128bit: true, sharedSpanContext: false, collectorEndpointVersion: HTTP_JSON, collectorService: {httpUri: {uri: http://collector.shop.example/api/v2/spans, cluster: outbound|4317||collector.shop.example, timeout: 5s}}, ZipkinConfig}}",
    ],
    [
      "Zipkin at a path, with short identifiers",
      { zipkin: at({ path: "/spans", enable64bitTraceId: true }) },
      tracing(),
      "tracing.provider.typedConfig",
      "{sharedSpanContext: false, collectorEndpointVersion: HTTP_JSON, collectorService: {httpUri: {uri: http://collector.shop.example/spans, cluster: outbound|4317||collector.shop.example, timeout: 5s}}, ZipkinConfig}",
    ],
    [
      "a share of requests",
      zipkin,
      tracing({ randomSamplingPercentage: 12.5 }),
      "tracing.randomSampling",
      "{value: 12.5}",
    ],
    ["no request at all", zipkin, tracing({ randomSamplingPercentage: 0 }), "tracing.randomSampling", "{}"],
    ["one percent otherwise", zipkin, tracing(), "tracing.randomSampling", "{value: 1}"],
    ["switched off", zipkin, tracing({ disableSpanReporting: true }), "tracing", "none"],
    [
      "tags",
      zipkin,
      tracing({
        customTags: {
          c: { literal: { value: "v" } },
          b: { header: { name: "x", defaultValue: "d" } },
          a: { environment: { name: "E", defaultValue: "d" } },
        },
      }),
      "tracing.customTags",
      "[{tag: a, environment: {name: E, defaultValue: d}}, {tag: b, requestHeader: {name: x, defaultValue: d}}, {tag: c, literal: {value: v}}, {tag: istio.authorization.dry_run.allow_policy.name, metadata: {kind: {request: {}}, metadataKey: {key: envoy.filters.http.rbac, path: [{key: istio_dry_run_allow_shadow_effective_policy_id}]}}}, {tag: istio.authorization.dry_run.allow_policy.result, metadata: {kind: {request: {}}, metadataKey: {key: envoy.filters.http.rbac, path: [{key: istio_dry_run_allow_shadow_engine_result}]}}}, {tag: istio.authorization.dry_run.deny_policy.name, metadata: {kind: {request: {}}, metadataKey: {key: envoy.filters.http.rbac, path: [{key: istio_dry_run_deny_shadow_effective_policy_id}]}}}, {tag: istio.authorization.dry_run.deny_policy.result, metadata: {kind: {request: {}}, metadataKey: {key: envoy.filters.http.rbac, path: [{key: istio_dry_run_deny_shadow_engine_result}]}}}, {tag: istio.canonical_revision, literal: {value: latest}}, {tag: istio.canonical_service, literal: {value: unknown}}, {tag: istio.cluster_id, literal: {value: c1}}, {tag: istio.mesh_id, literal: {value: unknown}}, {tag: istio.namespace, literal: {value: shop}}]",
    ],
    [
      "a formatted tag",
      zipkin,
      tracing({ customTags: { f: { formatter: { value: "%PROTOCOL%" } } } }),
      "tracing.customTags.0",
      "{tag: f, value: %PROTOCOL%}",
    ],
    ["without the mesh's own tags", zipkin, tracing({ enableIstioTags: false }), "tracing.customTags", "none"],
    ["of calls that come in alone", zipkin, tracing({ match: { mode: "SERVER" } }), "tracing", "none"],
    [
      "Datadog",
      { datadog: at() },
      tracing(),
      "tracing.provider",
      "{name: envoy.tracers.datadog, typedConfig: {collectorCluster: outbound|4317||collector.shop.example, collectorHostname: collector.shop.example, DatadogConfig}}",
    ],
    [
      "SkyWalking",
      { skywalking: at() },
      tracing(),
      "tracing.provider",
      "{name: envoy.tracers.skywalking, typedConfig: {grpcService: {envoyGrpc: {clusterName: outbound|4317||collector.shop.example, authority: collector.shop.example}}, SkyWalkingConfig}}",
    ],
    ["SkyWalking's children", { skywalking: at() }, tracing(), "tracing.spawnUpstreamSpan", "true"],
    [
      "OpenTelemetry by gRPC",
      { opentelemetry: at() },
      tracing(),
      "tracing.provider",
      "{name: envoy.tracers.opentelemetry, typedConfig: {grpcService: {envoyGrpc: {clusterName: outbound|4317||collector.shop.example, authority: collector.shop.example}}, OpenTelemetryConfig}}",
    ],
    [
      "OpenTelemetry by HTTP",
      { opentelemetry: at({ http: exporter }) },
      tracing(),
      "tracing.provider.typedConfig",
      "{httpService: {httpUri: {uri: collector.shop.example/v1/traces, cluster: outbound|4317||collector.shop.example, timeout: 3s}, requestHeadersToAdd: [{header: {key: x-a, value: 1}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}]}, OpenTelemetryConfig}",
    ],
    [
      "OpenTelemetry with what detects the resource",
      { opentelemetry: at({ resourceDetectors: { environment: {}, dynatrace: {} } }) },
      tracing(),
      "tracing.provider.typedConfig.resourceDetectors",
      "[{name: envoy.tracers.opentelemetry.resource_detectors.environment, typedConfig: {EnvironmentResourceDetectorConfig}}, {name: envoy.tracers.opentelemetry.resource_detectors.dynatrace, typedConfig: {DynatraceResourceDetectorConfig}}]",
    ],
    [
      "OpenTelemetry with what its conventions read from the proxy's environment, last",
      {
        opentelemetry: at({
          resourceDetectors: { dynatrace: {} },
          serviceAttributeEnrichment: "OTEL_SEMANTIC_CONVENTIONS",
        }),
      },
      tracing(),
      "tracing.provider.typedConfig.resourceDetectors.1.name",
      "envoy.tracers.opentelemetry.resource_detectors.environment",
    ],
    [
      "OpenTelemetry with Dynatrace's sampler",
      {
        opentelemetry: at({ http: exporter, dynatraceSampler: { tenant: "t", clusterId: 7, rootSpansPerMinute: 9 } }),
      },
      tracing(),
      "tracing.provider.typedConfig.sampler",
      "{name: envoy.tracers.opentelemetry.samplers.dynatrace, typedConfig: {tenant: t, clusterId: 7, httpService: {httpUri: {uri: collector.shop.example/api/v2/samplingConfiguration, cluster: outbound|4317||collector.shop.example, timeout: 3s}, requestHeadersToAdd: [{header: {key: x-a, value: 1}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}]}, rootSpansPerMinute: 9, DynatraceSamplerConfig}}",
    ],
    [
      "all requests for Dynatrace to choose from",
      { opentelemetry: at({ http: exporter, dynatraceSampler: { tenant: "t", clusterId: 7 } }) },
      tracing(),
      "tracing.randomSampling",
      "{value: 100}",
    ],
    [
      "Dynatrace's sampler without a service that it may ask",
      { opentelemetry: at({ dynatraceSampler: { tenant: "t", clusterId: 7 } }) },
      tracing(),
      "tracing",
      "none",
    ],
    [
      "a path with empty and relative segments, and characters that no path has",
      { opentelemetry: at({ http: { path: "v1//x/../traces/?k=v", timeout: "3s" } }) },
      tracing(),
      "tracing.provider.typedConfig.httpService.httpUri.uri",
      "collector.shop.example/v1/traces/%3Fk=v",
    ],
    [
      "OpenTelemetry with Dynatrace's service",
      {
        opentelemetry: at({
          dynatraceSampler: {
            tenant: "t",
            clusterId: 7,
            httpService: {
              service: "collector.shop.example",
              port: 4317,
              http: { path: "/p", timeout: "1s", headers: [{ name: "a", value: "b" }] },
            },
          },
        }),
      },
      tracing(),
      "tracing.provider.typedConfig.sampler",
      "{name: envoy.tracers.opentelemetry.samplers.dynatrace, typedConfig: {tenant: t, clusterId: 7, httpService: {httpUri: {uri: collector.shop.example/p, cluster: outbound|4317||collector.shop.example, timeout: 1s}, requestHeadersToAdd: [{header: {key: a, value: b}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}]}, DynatraceSamplerConfig}}",
    ],
    ["an unknown collector", { zipkin: { service: "no.example", port: 1 } }, tracing(), "tracing", "none"],
    ["the longest tag of a path", { zipkin: at({ maxTagLength: 99 }) }, tracing(), "tracing.maxPathTagLength", "99"],
  ],
  "whether a request's id decides about sampling": [
    ["is Telemetry's to say", zipkin, tracing(byId), atId, "false"],
    ["of a provider in whatever case", zipkin, { tracing: [{ providers: [{ name: "P" }], ...byId }] }, atId, "false"],
    ["is Envoy's default without a provider", zipkin, { tracing: [byId] }, atId, "true"],
    ["… with one that the mesh lacks", zipkin, { tracing: [{ providers: [{ name: "q" }], ...byId }] }, atId, "true"],
    ["… with one whose service is unknown", { zipkin: at({ service: "no.example" }) }, tracing(byId), atId, "true"],
    ["… where no spans are reported", zipkin, tracing({ ...byId, disableSpanReporting: true }), atId, "true"],
  ],
};

for (const [area, cases] of Object.entries(tables))
  describe(area, () => {
    for (const [name, provider, telemetry, field, is] of cases)
      it(name, () => assert.equal(inShort(fieldAt(managerOf(provider, telemetry), field)), is));
  });

/** The version comes before the rest of a case. */
const older: readonly (readonly [version: string, ...Case])[] = [
  [
    "1.29.0",
    "the collector by a service",
    { zipkin: at({ traceContextOption: "USE_B3_WITH_W3C_PROPAGATION", timeout: "1s" }) },
    tracing(),
    "tracing.provider.typedConfig",
    "{traceId128bit: true, sharedSpanContext: false, collectorEndpointVersion: HTTP_JSON, traceContextOption: USE_B3_WITH_W3C_PROPAGATION, collectorService: {httpUri: {uri: http://collector.shop.example/api/v2/spans, cluster: outbound|4317||collector.shop.example, timeout: 1s}}, ZipkinConfig}",
  ],
  [
    "1.28.3",
    "the collector by its cluster",
    { zipkin: at({ traceContextOption: "USE_B3_WITH_W3C_PROPAGATION", timeout: "1s", path: "/p" }) },
    tracing(),
    "tracing.provider.typedConfig",
    "{collectorCluster: outbound|4317||collector.shop.example, collectorEndpoint: /p, traceId128bit: true, sharedSpanContext: false, collectorEndpointVersion: HTTP_JSON, collectorHostname: collector.shop.example, traceContextOption: USE_B3_WITH_W3C_PROPAGATION, ZipkinConfig}",
  ],
  [
    "1.27.0",
    "one context of a trace",
    { zipkin: at({ traceContextOption: "USE_B3_WITH_W3C_PROPAGATION" }) },
    tracing(),
    "tracing.provider.typedConfig.traceContextOption",
    "none",
  ],
  [
    "1.28.3",
    "no tags by a format",
    zipkin,
    tracing({
      customTags: { f: { formatter: { value: "%PROTOCOL%" } }, l: { literal: { value: "x" } } },
      enableIstioTags: false,
    }),
    "tracing.customTags",
    "[{tag: l, literal: {value: x}}]",
  ],
];

describe("proxies of older versions have", () => {
  for (const [version, name, provider, telemetry, field, is] of older)
    it(`${name}: ${version}`, () => assert.equal(inShort(fieldAt(managerOf(provider, telemetry, version), field)), is));
});

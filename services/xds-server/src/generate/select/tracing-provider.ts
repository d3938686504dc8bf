/** The collector that spans go to, by the mesh's extension providers. */
import { create, type GenMessage, type Message, pack } from "@flotilla/proto";
import { DatadogConfigSchema } from "@flotilla/proto/envoy/config/trace/v3/datadog_pb";
import { type Tracing_Http, Tracing_HttpSchema } from "@flotilla/proto/envoy/config/trace/v3/http_tracer_pb";
import { OpenTelemetryConfigSchema } from "@flotilla/proto/envoy/config/trace/v3/opentelemetry_pb";
import { SkyWalkingConfigSchema } from "@flotilla/proto/envoy/config/trace/v3/skywalking_pb";
import { ZipkinConfigSchema } from "@flotilla/proto/envoy/config/trace/v3/zipkin_pb";
import type { MeshConfig_ExtensionProvider } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { telemetryProvider } from "../../snapshot/scope/telemetry.ts";
import type { View } from "../../snapshot/view.ts";
import { olderZipkinConfig, zipkinConfig } from "../envoy/filters/zipkin.ts";
import { openTelemetryConfig } from "./opentelemetry.ts";
import { outsideService } from "./outside-service.ts";

export interface TracingProvider {
  readonly http: Tracing_Http;
  readonly maxTagLength: number;
  /** The provider samples itself: it is asked for every request. */
  readonly samples: boolean;
  /** Spans for requests that the proxy sends, apart from those it receives. */
  readonly spawnsUpstreamSpan: boolean;
}

/** Undefined when the mesh has no such provider, or its service is unknown. */
export function tracingProvider(view: View, name: string): TracingProvider | undefined {
  const provider = telemetryProvider(view, name)?.provider;
  switch (provider?.case) {
    case "zipkin":
    case "datadog":
    case "skywalking":
    case "opentelemetry":
      return ofService(view, provider);
    default:
      return undefined;
  }
}

type Traced = Extract<
  MeshConfig_ExtensionProvider["provider"],
  { case: "zipkin" | "datadog" | "skywalking" | "opentelemetry" }
>;

function ofService(view: View, provider: Traced): TracingProvider | undefined {
  const service = outsideService(view, provider.value.service, provider.value.port);
  if (service === undefined) return undefined;
  const { hostname, cluster } = service;
  const plain = { maxTagLength: 0, samples: false, spawnsUpstreamSpan: false };
  switch (provider.case) {
    case "zipkin": {
      const values = view.feature("providerHeaderValues");
      const build = view.proxy.isAtLeast(1, 29) ? zipkinConfig : olderZipkinConfig;
      const config = build(provider.value, service, values);
      // The field came with Istio 1.28.
      if (!view.proxy.isAtLeast(1, 28)) config.traceContextOption = 0;
      const http = tracer("zipkin", ZipkinConfigSchema, config);
      return { ...plain, http, maxTagLength: provider.value.maxTagLength };
    }
    case "datadog": {
      const serviceName = view.proxy.nodeCluster;
      const config = create(DatadogConfigSchema, {
        collectorCluster: cluster,
        collectorHostname: hostname,
        serviceName,
      });
      const http = tracer("datadog", DatadogConfigSchema, config);
      return { ...plain, http, maxTagLength: provider.value.maxTagLength };
    }
    case "skywalking": {
      const config = create(SkyWalkingConfigSchema, {
        grpcService: {
          targetSpecifier: { case: "envoyGrpc", value: { clusterName: cluster, authority: hostname } },
        },
      });
      return { ...plain, http: tracer("skywalking", SkyWalkingConfigSchema, config), spawnsUpstreamSpan: true };
    }
    case "opentelemetry": {
      const config = openTelemetryConfig(view, provider.value, service);
      if (config === undefined) return undefined;
      const http = tracer("opentelemetry", OpenTelemetryConfigSchema, config);
      return { ...plain, http, maxTagLength: provider.value.maxTagLength, samples: config.sampler !== undefined };
    }
  }
}

function tracer<Config extends Message>(name: string, schema: GenMessage<Config>, config: Config): Tracing_Http {
  return create(Tracing_HttpSchema, {
    name: `envoy.tracers.${name}`,
    configType: { case: "typedConfig", value: pack(schema, config) },
  });
}

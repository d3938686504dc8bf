/** OpenTelemetry's collector, by gRPC or HTTP. */
import { create, type GenMessage, type Message, pack } from "@flotilla/proto";
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import {
  type OpenTelemetryConfig,
  OpenTelemetryConfigSchema,
} from "@flotilla/proto/envoy/config/trace/v3/opentelemetry_pb";
import { DynatraceResourceDetectorConfigSchema } from "@flotilla/proto/envoy/extensions/tracers/opentelemetry/resource_detectors/v3/dynatrace_resource_detector_pb";
import { EnvironmentResourceDetectorConfigSchema } from "@flotilla/proto/envoy/extensions/tracers/opentelemetry/resource_detectors/v3/environment_resource_detector_pb";
import { DynatraceSamplerConfigSchema } from "@flotilla/proto/envoy/extensions/tracers/opentelemetry/samplers/v3/dynatrace_sampler_pb";
import {
  MeshConfig_ExtensionProvider_ServiceAttributeEnrichment as Enrichment,
  type MeshConfig_ExtensionProvider_GrpcService as GrpcSettings,
  type MeshConfig_ExtensionProvider_HttpService as HttpSettings,
  MeshConfig_ExtensionProvider_HttpServiceSchema as HttpSettingsSchema,
  type MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider as Provider,
  type MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider_DynatraceSampler as Sampler,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { View } from "../../snapshot/view.ts";
import {
  collectorHttpService,
  type HeaderValues,
  headerValue,
  type OutsideService,
} from "../envoy/filters/outside-service.ts";
import { outsideService } from "./outside-service.ts";

/** Undefined where the sampler has no service to ask: nothing is traced then. */
export function openTelemetryConfig(
  view: View,
  provider: Provider,
  service: OutsideService,
): OpenTelemetryConfig | undefined {
  const { http, grpc, resourceDetectors, sampling, serviceAttributeEnrichment } = provider;
  const isSemantic = serviceAttributeEnrichment === Enrichment.OTEL_SEMANTIC_CONVENTIONS;
  const sampler =
    sampling.case === "dynatraceSampler" ? dynatraceSampler(view, sampling.value, http, service) : undefined;
  if (sampling.case !== undefined && sampler === undefined) return undefined;
  const values = view.feature("providerHeaderValues");
  const environment = detector("environment", EnvironmentResourceDetectorConfigSchema);
  return create(OpenTelemetryConfigSchema, {
    serviceName: isSemantic ? semanticName(view) : view.proxy.nodeCluster,
    ...(http === undefined
      ? { grpcService: grpcService(grpc, service, values) }
      : { httpService: collectorHttpService(http, service, values) }),
    resourceDetectors: [
      ...(resourceDetectors?.environment ? [environment] : []),
      ...(resourceDetectors?.dynatrace ? [detector("dynatrace", DynatraceResourceDetectorConfigSchema)] : []),
      ...(isSemantic && !resourceDetectors?.environment ? [environment] : []),
    ],
    ...(sampler && { sampler }),
  });
}

function grpcService(grpc: GrpcSettings | undefined, { hostname, cluster }: OutsideService, values: HeaderValues) {
  const metadata = grpc?.initialMetadata ?? [];
  return {
    targetSpecifier: { case: "envoyGrpc" as const, value: { clusterName: cluster, authority: hostname } },
    ...(grpc?.timeout && { timeout: grpc.timeout }),
    initialMetadata: metadata.map((header) => ({ key: header.name, value: headerValue(header, values) })),
  };
}

/** The name that OpenTelemetry's conventions for Kubernetes give a workload. */
function semanticName({ proxy }: View): string {
  const ofWorkload =
    proxy.annotation("resource.opentelemetry.io/service.name") ||
    proxy.label("app.kubernetes.io/instance") ||
    proxy.label("app.kubernetes.io/name") ||
    proxy.metadataText("WORKLOAD_NAME");
  if (ofWorkload) return ofWorkload;
  const [pod = "", ...namespace] = proxy.id.split(".");
  if (pod !== "" && namespace.length > 0) return pod;
  const containers = proxy.metadataText("APP_CONTAINERS");
  return containers === "" || containers.includes(",") ? "unknown_service" : containers;
}

function detector<Config extends Message>(name: string, schema: GenMessage<Config>): TypedExtensionConfig {
  const typedConfig = pack(schema, create(schema));
  return create(TypedExtensionConfigSchema, {
    name: `envoy.tracers.opentelemetry.resource_detectors.${name}`,
    typedConfig,
  });
}

/** It asks the service that takes the spans, or one of its own; undefined where that is unknown or takes spans by gRPC. */
function dynatraceSampler(
  view: View,
  sampler: Sampler,
  exporter: HttpSettings | undefined,
  collector: OutsideService,
): TypedExtensionConfig | undefined {
  const { tenant, clusterId, rootSpansPerMinute, httpService: api } = sampler;
  const service = api === undefined ? collector : outsideService(view, api.service, api.port);
  const settings =
    api === undefined
      ? exporter && { ...exporter, path: "api/v2/samplingConfiguration" }
      : (api.http ?? create(HttpSettingsSchema));
  if (service === undefined || settings === undefined) return undefined;
  const httpService = collectorHttpService(settings, service, view.feature("providerHeaderValues"));
  const config = create(DynatraceSamplerConfigSchema, { tenant, clusterId, rootSpansPerMinute, httpService });
  return create(TypedExtensionConfigSchema, {
    name: "envoy.tracers.opentelemetry.samplers.dynatrace",
    typedConfig: pack(DynatraceSamplerConfigSchema, config),
  });
}

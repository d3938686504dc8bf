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

export function openTelemetryConfig(view: View, provider: Provider, service: OutsideService): OpenTelemetryConfig {
  const { http, grpc, resourceDetectors, sampling, serviceAttributeEnrichment } = provider;
  const isSemantic = serviceAttributeEnrichment === Enrichment.OTEL_SEMANTIC_CONVENTIONS;
  const sampler = sampling.case === "dynatraceSampler" ? dynatraceSampler(view, sampling.value, service) : undefined;
  const values = view.feature("providerHeaderValues");
  return create(OpenTelemetryConfigSchema, {
    serviceName: isSemantic ? semanticName(view) : view.proxy.nodeCluster,
    ...(http === undefined
      ? { grpcService: grpcService(grpc, service, values) }
      : { httpService: collectorHttpService(http, service, values) }),
    resourceDetectors: [
      ...(resourceDetectors?.environment || isSemantic
        ? [detector("environment", EnvironmentResourceDetectorConfigSchema)]
        : []),
      ...(resourceDetectors?.dynatrace ? [detector("dynatrace", DynatraceResourceDetectorConfigSchema)] : []),
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
  return (
    proxy.label("app.kubernetes.io/instance") ||
    proxy.label("app.kubernetes.io/name") ||
    proxy.metadataText("WORKLOAD_NAME") ||
    proxy.metadataText("NAME")
  );
}

function detector<Config extends Message>(name: string, schema: GenMessage<Config>): TypedExtensionConfig {
  const typedConfig = pack(schema, create(schema));
  return create(TypedExtensionConfigSchema, {
    name: `envoy.tracers.opentelemetry.resource_detectors.${name}`,
    typedConfig,
  });
}

/** It may ask another service than the one that takes the spans. */
function dynatraceSampler(view: View, sampler: Sampler, collector: OutsideService): TypedExtensionConfig {
  const { tenant, clusterId, rootSpansPerMinute, httpService: api } = sampler;
  const service = api === undefined ? collector : outsideService(view, api.service, api.port);
  const values = view.feature("providerHeaderValues");
  const httpService = api?.http && service && collectorHttpService(api.http, service, values);
  const config = create(DynatraceSamplerConfigSchema, {
    tenant,
    clusterId,
    rootSpansPerMinute,
    ...(httpService && { httpService }),
  });
  return create(TypedExtensionConfigSchema, {
    name: "envoy.tracers.opentelemetry.samplers.dynatrace",
    typedConfig: pack(DynatraceSamplerConfigSchema, config),
  });
}

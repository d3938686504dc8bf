/** Zipkin's collector. */
import { create } from "@flotilla/proto";
import {
  type ZipkinConfig,
  ZipkinConfig_CollectorEndpointVersion,
  ZipkinConfigSchema,
} from "@flotilla/proto/envoy/config/trace/v3/zipkin_pb";
import type { MeshConfig_ExtensionProvider_ZipkinTracingProvider as ZipkinProvider } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { headersToAdd, type OutsideService } from "./outside-service.ts";

export function zipkinConfig(provider: ZipkinProvider, { hostname, cluster }: OutsideService): ZipkinConfig {
  const { path, timeout, enable64bitTraceId, traceContextOption, headers } = provider;
  return create(ZipkinConfigSchema, {
    collectorEndpointVersion: ZipkinConfig_CollectorEndpointVersion.HTTP_JSON,
    traceId128bit: !enable64bitTraceId,
    sharedSpanContext: false,
    traceContextOption: traceContextOption as number,
    collectorService: {
      httpUri: {
        uri: `http://${hostname}${path === "" ? "/api/v2/spans" : path}`,
        httpUpstreamType: { case: "cluster", value: cluster },
        timeout: timeout ?? { seconds: 5n, nanos: 0 },
      },
      requestHeadersToAdd: headersToAdd(headers),
    },
  });
}

/** The collector of Zipkin that spans go to. */
import { create } from "@flotilla/proto";
import {
  type ZipkinConfig,
  ZipkinConfig_CollectorEndpointVersion,
  ZipkinConfigSchema,
} from "@flotilla/proto/envoy/config/trace/v3/zipkin_pb";
import type { MeshConfig_ExtensionProvider_ZipkinTracingProvider as ZipkinProvider } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { type HeaderValues, headersToAdd, type OutsideService } from "./outside-service.ts";

export function zipkinConfig(
  provider: ZipkinProvider,
  { hostname, cluster }: OutsideService,
  values: HeaderValues,
): ZipkinConfig {
  return create(ZipkinConfigSchema, {
    ...spans(provider),
    collectorService: {
      httpUri: {
        uri: `http://${hostname}${pathOf(provider)}`,
        httpUpstreamType: { case: "cluster", value: cluster },
        timeout: provider.timeout ?? { seconds: 5n, nanos: 0 },
      },
      requestHeadersToAdd: headersToAdd(provider.headers, values),
    },
  });
}

/** For Envoys that do not know headers and a timeout of the collector. */
export function olderZipkinConfig(provider: ZipkinProvider, { hostname, cluster }: OutsideService): ZipkinConfig {
  return create(ZipkinConfigSchema, {
    ...spans(provider),
    collectorCluster: cluster,
    collectorEndpoint: pathOf(provider),
    collectorHostname: hostname,
  });
}

function spans({ enable64bitTraceId, traceContextOption }: ZipkinProvider) {
  return {
    collectorEndpointVersion: ZipkinConfig_CollectorEndpointVersion.HTTP_JSON,
    traceId128bit: !enable64bitTraceId,
    sharedSpanContext: false,
    traceContextOption: traceContextOption as number,
  };
}

function pathOf({ path }: ZipkinProvider): string {
  return path === "" ? "/api/v2/spans" : path;
}

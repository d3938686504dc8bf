/** The collector that spans go to, by the mesh's extension providers. */
import { clusterName } from "@flotilla/model";
import { create, pack } from "@flotilla/proto";
import { type Tracing_Http, Tracing_HttpSchema } from "@flotilla/proto/envoy/config/trace/v3/http_tracer_pb";
import {
  ZipkinConfig_CollectorEndpointVersion,
  ZipkinConfigSchema,
} from "@flotilla/proto/envoy/config/trace/v3/zipkin_pb";
import type { MeshConfig_ExtensionProvider_ZipkinTracingProvider as ZipkinProvider } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { View } from "../../../snapshot/view.ts";

export interface TracingProvider {
  readonly http: Tracing_Http;
  readonly maxTagLength: number;
}

/** Undefined when the mesh has no such provider, or its service is unknown. */
export function tracingProvider(view: View, name: string): TracingProvider | undefined {
  const provider = view.mesh.extensionProviders.find((one) => one.name === name)?.provider;
  if (provider?.case !== "zipkin") return undefined;
  const { service, maxTagLength } = provider.value;
  // A namespace before the host only tells services of one host apart.
  const hostname = service.slice(service.indexOf("/") + 1);
  if (view.servicesByHost(hostname).length === 0) return undefined;
  return { http: zipkin(provider.value, hostname), maxTagLength };
}

function zipkin({ port, path, timeout, enable64bitTraceId }: ZipkinProvider, hostname: string): Tracing_Http {
  const config = create(ZipkinConfigSchema, {
    collectorEndpointVersion: ZipkinConfig_CollectorEndpointVersion.HTTP_JSON,
    traceId128bit: !enable64bitTraceId,
    sharedSpanContext: false,
    collectorService: {
      httpUri: {
        uri: `http://${hostname}${path === "" ? "/api/v2/spans" : path}`,
        httpUpstreamType: { case: "cluster", value: clusterName("outbound", port, "", hostname) },
        timeout: timeout ?? { seconds: 5n, nanos: 0 },
      },
    },
  });
  return create(Tracing_HttpSchema, {
    name: "envoy.tracers.zipkin",
    configType: { case: "typedConfig", value: pack(ZipkinConfigSchema, config) },
  });
}

/** Access logs of the mesh's extension providers: files, and services that take them by gRPC. */
import { create, fromJson, type GenMessage, type Message, type MessageInitShape, pack } from "@flotilla/proto";
import { ApiVersion } from "@flotilla/proto/envoy/config/core/v3/config_source_pb";
import { TypedExtensionConfigSchema } from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import {
  type CommonGrpcAccessLogConfigSchema,
  HttpGrpcAccessLogConfigSchema,
  TcpGrpcAccessLogConfigSchema,
} from "@flotilla/proto/envoy/extensions/access_loggers/grpc/v3/als_pb";
import { OpenTelemetryAccessLogConfigSchema } from "@flotilla/proto/envoy/extensions/access_loggers/open_telemetry/v3/logs_service_pb";
import type {
  MeshConfig_ExtensionProvider_EnvoyFileAccessLogProvider as FileProvider,
  MeshConfig_ExtensionProvider_EnvoyHttpGrpcV3LogProvider as HttpProvider,
  MeshConfig_ExtensionProvider_EnvoyOpenTelemetryLogProvider as OpenTelemetryProvider,
  MeshConfig_ExtensionProvider_EnvoyTcpGrpcV3LogProvider as TcpProvider,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { telemetryProvider } from "../../snapshot/scope/telemetry.ts";
import type { View } from "../../snapshot/view.ts";
import {
  defaultJsonFormat,
  defaultTextFormat,
  fileLog,
  formatters,
  jsonLog,
  type Log,
  plainLog,
  textLog,
  textsIn,
} from "../envoy/filters/file-log.ts";
import type { OutsideService } from "../envoy/filters/outside-service.ts";
import { outsideService } from "./outside-service.ts";

/** Undefined for names that no provider of logs has, and for services that are unknown. */
export function providerLog(view: View, name: string): Log | undefined {
  const found = telemetryProvider(view, name);
  const provider = found?.provider;
  switch (provider?.case) {
    case "envoyFileAccessLog":
      return fileOf(view, provider.value, found?.name === builtIn);
    case "envoyHttpAls":
      return withService(view, provider.value, httpLog);
    case "envoyTcpAls":
      return withService(view, provider.value, tcpLog);
    case "envoyOtelAls":
      return withService(view, provider.value, openTelemetryLog);
    default:
      return undefined;
  }
}

/** The provider that every mesh has from the start stands for the mesh's own file. */
const builtIn = "envoy";

function fileOf({ mesh }: View, { path, logFormat, omitEmptyValues }: FileProvider, isBuiltIn: boolean): Log {
  const format = logFormat?.logFormat;
  if (format?.case === "text") return textLog(path, format.value, omitEmptyValues);
  if (format?.case === "labels")
    return jsonLog(path, Object.keys(format.value).length > 0 ? format.value : defaultJsonFormat, omitEmptyValues);
  if (isBuiltIn) return fileLog(mesh, path, omitEmptyValues);
  return logFormat === undefined ? textLog(path, "", omitEmptyValues) : plainLog(path);
}

function withService<Provider extends { readonly service: string; readonly port: number }>(
  view: View,
  provider: Provider,
  logOf: (provider: Provider, service: OutsideService) => Log,
): Log | undefined {
  const service = outsideService(view, provider.service, provider.port);
  return service && logOf(provider, service);
}

/** Filter state that filters set for the workloads on both ends. */
const peers = ["upstream_peer", "downstream_peer"];
const wasmPeers = ["wasm.upstream_peer", "wasm.upstream_peer_id", "wasm.downstream_peer", "wasm.downstream_peer_id"];
const allPeers = [...peers, ...wasmPeers];

function httpLog(provider: HttpProvider, service: OutsideService): Log {
  const { additionalRequestHeadersToLog, additionalResponseHeadersToLog, additionalResponseTrailersToLog } = provider;
  return log("envoy.access_loggers.http_grpc", HttpGrpcAccessLogConfigSchema, {
    commonConfig: common(service, provider.logName || "http_envoy_accesslog", provider.filterStateObjectsToLog),
    additionalRequestHeadersToLog,
    additionalResponseHeadersToLog,
    additionalResponseTrailersToLog,
  });
}

function tcpLog({ logName, filterStateObjectsToLog }: TcpProvider, service: OutsideService): Log {
  return log("envoy.tcp_grpc_access_log", TcpGrpcAccessLogConfigSchema, {
    commonConfig: common(service, logName || "tcp_envoy_accesslog", filterStateObjectsToLog),
  });
}

/** `enableEnvoyAccessLogService` of MeshConfig: the service is a cluster of the proxies' bootstrap. */
export const bootstrapServiceLogs: Readonly<Record<"request" | "connection" | "listener", Log>> = {
  request: log("envoy.access_loggers.http_grpc", HttpGrpcAccessLogConfigSchema, {
    commonConfig: ofBootstrap("http_envoy_accesslog"),
  }),
  connection: log("envoy.tcp_grpc_access_log", TcpGrpcAccessLogConfigSchema, {
    commonConfig: ofBootstrap("tcp_envoy_accesslog"),
  }),
  listener: log("envoy.tcp_grpc_access_log", TcpGrpcAccessLogConfigSchema, {
    commonConfig: ofBootstrap("listener_envoy_accesslog"),
  }),
};

function ofBootstrap(logName: string) {
  return common({ hostname: "", cluster: "envoy_accesslog_service" }, logName, allPeers);
}

function openTelemetryLog({ logName, logFormat }: OpenTelemetryProvider, service: OutsideService): Log {
  // A label that is no text is sent empty, as by istiod.
  const labels = Object.entries(logFormat?.labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = logFormat?.text || defaultTextFormat;
  const { formatters: operators = [] } = formatters([text, ...textsIn(logFormat?.labels ?? {})]);
  return log("envoy.access_loggers.open_telemetry", OpenTelemetryAccessLogConfigSchema, {
    commonConfig: common(service, logName || "otel_envoy_accesslog", allPeers),
    disableBuiltinLabels: true,
    body: { value: { case: "stringValue", value: text } },
    formatters: operators.map((operator) => fromJson(TypedExtensionConfigSchema, operator)),
    ...(labels.length > 0 && {
      attributes: {
        values: labels.map(([key, value]) => ({
          key,
          value: { value: { case: "stringValue" as const, value: typeof value === "string" ? value : "" } },
        })),
      },
    }),
  });
}

function common(
  { hostname, cluster }: OutsideService,
  logName: string,
  filterState: readonly string[],
): MessageInitShape<typeof CommonGrpcAccessLogConfigSchema> {
  return {
    logName,
    transportApiVersion: ApiVersion.V3,
    grpcService: { targetSpecifier: { case: "envoyGrpc", value: { clusterName: cluster, authority: hostname } } },
    filterStateObjectsToLog: [...(filterState.length > 0 ? filterState : peers)],
  };
}

function log<Config extends Message>(
  name: string,
  schema: GenMessage<Config>,
  config: MessageInitShape<GenMessage<Config>>,
): Log {
  return { name, config: pack(schema, create(schema, config)) };
}

/** The mesh's own access log: a file, as text or JSON. */
import { type Any, create, fromJson, type JsonObject, pack } from "@flotilla/proto";
import { type AccessLog, AccessLogSchema } from "@flotilla/proto/envoy/config/accesslog/v3/accesslog_pb";
import { FileAccessLogSchema } from "@flotilla/proto/envoy/extensions/access_loggers/file/v3/file_pb";
import type { MeshConfig } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { MeshConfig_AccessLogEncoding } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { query } from "../../snapshot/view.ts";

export interface AccessLogs {
  /** For connection managers and TCP proxies. */
  readonly connection: readonly AccessLog[];
  /** For whole listeners: only connections that no filter chain matched. */
  readonly listener: readonly AccessLog[];
}

const none: AccessLogs = { connection: [], listener: [] };

export const accessLogs = query<AccessLogs>("access-logs", (view) => {
  const { mesh } = view;
  if (mesh.accessLogFile === "") return none;
  const value = fileLog(mesh);
  const log = (filter?: AccessLog["filter"]) =>
    create(AccessLogSchema, {
      name: "envoy.access_loggers.file",
      configType: { case: "typedConfig", value },
      ...(filter && { filter }),
    });
  const noRoute = create(AccessLogSchema, {
    filter: { filterSpecifier: { case: "responseFlagFilter", value: { flags: ["NR"] } } },
  }).filter;
  return { connection: [log()], listener: [log(noRoute)] };
});

function fileLog({ accessLogFile, accessLogFormat, accessLogEncoding }: MeshConfig): Any {
  if (accessLogEncoding === MeshConfig_AccessLogEncoding.JSON) {
    const jsonFormat = jsonFormatOf(accessLogFormat) ?? defaultJsonFormat;
    return pack(
      FileAccessLogSchema,
      fromJson(FileAccessLogSchema, { path: accessLogFile, logFormat: { jsonFormat, jsonFormatOptions: {} } }),
    );
  }
  const format = accessLogFormat === "" ? defaultTextFormat : accessLogFormat;
  const inlineString = format.endsWith("\n") ? format : `${format}\n`;
  return pack(
    FileAccessLogSchema,
    fromJson(FileAccessLogSchema, { path: accessLogFile, logFormat: { textFormatSource: { inlineString } } }),
  );
}

/** Undefined for what is no JSON object. */
function jsonFormatOf(text: string): JsonObject | undefined {
  try {
    const format: unknown = JSON.parse(text);
    return typeof format === "object" && format !== null && !Array.isArray(format) ? (format as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** Istio's documented default format, as fields in order. */
const defaultTextFormat = `${[
  "[%START_TIME%]",
  '"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%"',
  "%RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS%",
  '"%UPSTREAM_TRANSPORT_FAILURE_REASON%"',
  "%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
  '"%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"',
  "%UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS%",
  "%REQUESTED_SERVER_NAME% %ROUTE_NAME%",
].join(" ")}\n`;

const defaultJsonFormat: JsonObject = {
  authority: "%REQ(:AUTHORITY)%",
  bytes_received: "%BYTES_RECEIVED%",
  bytes_sent: "%BYTES_SENT%",
  connection_termination_details: "%CONNECTION_TERMINATION_DETAILS%",
  downstream_local_address: "%DOWNSTREAM_LOCAL_ADDRESS%",
  downstream_remote_address: "%DOWNSTREAM_REMOTE_ADDRESS%",
  duration: "%DURATION%",
  method: "%REQ(:METHOD)%",
  path: "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
  protocol: "%PROTOCOL%",
  request_id: "%REQ(X-REQUEST-ID)%",
  requested_server_name: "%REQUESTED_SERVER_NAME%",
  response_code: "%RESPONSE_CODE%",
  response_code_details: "%RESPONSE_CODE_DETAILS%",
  response_flags: "%RESPONSE_FLAGS%",
  route_name: "%ROUTE_NAME%",
  start_time: "%START_TIME%",
  upstream_cluster: "%UPSTREAM_CLUSTER_RAW%",
  upstream_host: "%UPSTREAM_HOST%",
  upstream_local_address: "%UPSTREAM_LOCAL_ADDRESS%",
  upstream_service_time: "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
  upstream_transport_failure_reason: "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
  user_agent: "%REQ(USER-AGENT)%",
  x_forwarded_for: "%REQ(X-FORWARDED-FOR)%",
};

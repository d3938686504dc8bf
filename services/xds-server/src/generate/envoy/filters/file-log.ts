/** Access logs that the proxy writes to a file, as text or JSON. */
import { type Any, fromJson, type JsonObject, pack } from "@flotilla/proto";
import { FileAccessLogSchema } from "@flotilla/proto/envoy/extensions/access_loggers/file/v3/file_pb";
import type { MeshConfig } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { MeshConfig_AccessLogEncoding } from "@flotilla/proto/mesh/v1alpha1/config_pb";

/** The writer of a log, without the requests it is for. */
export interface Log {
  readonly name: string;
  readonly config: Any;
}

type MeshFormat = Pick<MeshConfig, "accessLogFormat" | "accessLogEncoding">;

/** In the mesh's format. @param omitEmptyValues leave out what a request has nothing for, instead of a dash */
export function fileLog(
  { accessLogFormat, accessLogEncoding }: MeshFormat,
  path: string,
  omitEmptyValues = false,
): Log {
  if (accessLogEncoding === MeshConfig_AccessLogEncoding.JSON)
    return jsonLog(path, jsonFormatOf(accessLogFormat) ?? defaultJsonFormat, omitEmptyValues);
  return textLog(path, accessLogFormat, omitEmptyValues);
}

export function jsonLog(path: string, jsonFormat: JsonObject, omitEmptyValues = false): Log {
  return logOf({
    path,
    logFormat: {
      jsonFormat,
      jsonFormatOptions: {},
      ...formatters(textsIn(jsonFormat)),
      ...(omitEmptyValues && { omitEmptyValues }),
    },
  });
}

/** @param format Istio's own when empty */
export function textLog(path: string, format: string, omitEmptyValues = false): Log {
  const text = format === "" ? defaultTextFormat : format;
  const inlineString = text.endsWith("\n") ? text : `${text}\n`;
  return logOf({
    path,
    logFormat: {
      textFormatSource: { inlineString },
      ...formatters([inlineString]),
      ...(omitEmptyValues && { omitEmptyValues }),
    },
  });
}

/** In Envoy's own format. */
export function plainLog(path: string): Log {
  return logOf({ path });
}

/** As in istiod, only values on the first level are looked at. */
export function textsIn(fields: JsonObject): readonly string[] {
  return Object.values(fields).filter((value) => typeof value === "string");
}

/** The one operator that Envoy has in an extension; others come with it. */
export function formatters(formats: readonly string[]): { readonly formatters?: JsonObject[] } {
  if (!formats.some((format) => format.includes("%REQ_WITHOUT_QUERY"))) return {};
  return { formatters: [withoutQuery] };
}

const withoutQuery: JsonObject = {
  name: "envoy.formatter.req_without_query",
  typedConfig: { "@type": "type.googleapis.com/envoy.extensions.formatter.req_without_query.v3.ReqWithoutQuery" },
};

function logOf(json: JsonObject): Log {
  return { name: "envoy.access_loggers.file", config: pack(FileAccessLogSchema, fromJson(FileAccessLogSchema, json)) };
}

/** Undefined for text that is not a JSON object, or is nested deeper than a protobuf message may be (100 levels). */
function jsonFormatOf(text: string): JsonObject | undefined {
  try {
    const format: unknown = JSON.parse(text);
    if (typeof format !== "object" || format === null || Array.isArray(format)) return undefined;
    const jsonFormat = format as JsonObject;
    logOf({ logFormat: { jsonFormat } });
    return jsonFormat;
  } catch {
    return undefined;
  }
}

/** Istio's documented default format, as fields in order. */
export const defaultTextFormat = `${[
  "[%START_TIME%]",
  '"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%"',
  "%RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS%",
  '"%UPSTREAM_TRANSPORT_FAILURE_REASON%"',
  "%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
  '"%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"',
  "%UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS%",
  "%REQUESTED_SERVER_NAME% %ROUTE_NAME%",
].join(" ")}\n`;

export const defaultJsonFormat: JsonObject = {
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

/** `connectionSettings` of a ProxyConfig in Envoy's terms: limits, timeouts and normalization of what callers send. */

import { create } from "@flotilla/proto";
import {
  HttpProtocolOptions_HeadersWithUnderscoresAction as EnvoyUnderscores,
  Http2ProtocolOptionsSchema,
  HttpProtocolOptionsSchema,
} from "@flotilla/proto/envoy/config/core/v3/protocol_pb";
import { HttpConnectionManager_PathWithEscapedSlashesAction as EnvoyEscapes } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import {
  type ProxyConfig_ConnectionSettings as ConnectionSettings,
  ProxyConfig_ConnectionSettings_PathWithEscapedSlashesAction as Escapes,
  ProxyConfig_ConnectionSettings_HeadersWithUnderscoresAction as Underscores,
} from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { parseDuration, zeroDuration } from "../duration.ts";
import type { ListenerTraits } from "./listener-traits.ts";

type Given = Pick<ListenerTraits, "connection" | "idleTimeout" | "mergeSlashes" | "unescapeSlashes">;

/** Fields of the connection manager. Settings of the ProxyConfig override IDLE_TIMEOUT and the mesh's path normalization. */
export function connectionFields(traits: Given, isHttp2: boolean) {
  const { connection } = traits;
  return {
    streamIdleTimeout: connection?.httpStreamIdleTimeout ?? zeroDuration,
    requestTimeout: connection?.httpRequestTimeout,
    requestHeadersTimeout: connection?.httpRequestHeadersTimeout,
    drainTimeout: connection?.httpDrainTimeout,
    ...normalization(traits),
    ...commonOptions(traits),
    ...http2Options(connection, isHttp2),
  };
}

/** Field of a listener of gateways. */
export function bufferLimit({ connection }: Pick<ListenerTraits, "connection">) {
  const bytes = connection?.listenerPerConnectionBufferLimitBytes;
  return bytes === undefined ? {} : { perConnectionBufferLimitBytes: bytes };
}

function normalization({ connection, mergeSlashes, unescapeSlashes }: Given) {
  const action = connection?.httpPathWithEscapedSlashesAction ?? Escapes.PATH_WITH_ESCAPED_SLASHES_UNSPECIFIED;
  const ofMesh = unescapeSlashes ? EnvoyEscapes.UNESCAPE_AND_FORWARD : EnvoyEscapes.KEEP_UNCHANGED;
  return {
    mergeSlashes: connection?.httpMergeSlashes ?? mergeSlashes,
    pathWithEscapedSlashesAction: escapes[action] ?? ofMesh,
  };
}

const escapes: Readonly<Partial<Record<Escapes, EnvoyEscapes>>> = {
  [Escapes.KEEP_UNCHANGED]: EnvoyEscapes.KEEP_UNCHANGED,
  [Escapes.REJECT_REQUEST]: EnvoyEscapes.REJECT_REQUEST,
  [Escapes.UNESCAPE_AND_REDIRECT]: EnvoyEscapes.UNESCAPE_AND_REDIRECT,
  [Escapes.UNESCAPE_AND_FORWARD]: EnvoyEscapes.UNESCAPE_AND_FORWARD,
};

const underscores: Readonly<Partial<Record<Underscores, EnvoyUnderscores>>> = {
  [Underscores.HEADERS_WITH_UNDERSCORES_ALLOW]: EnvoyUnderscores.ALLOW,
  [Underscores.HEADERS_WITH_UNDERSCORES_REJECT_REQUEST]: EnvoyUnderscores.REJECT_REQUEST,
  [Underscores.HEADERS_WITH_UNDERSCORES_DROP_HEADER]: EnvoyUnderscores.DROP_HEADER,
};

function commonOptions({ connection, idleTimeout }: Given) {
  const idle = connection?.httpIdleTimeout ?? parseDuration(idleTimeout);
  const { httpMaxConnectionDuration: connectionDuration, httpMaxStreamDuration: streamDuration } = connection ?? {};
  const action = connection && underscores[connection.httpHeadersWithUnderscoresAction];
  if ([idle, connectionDuration, streamDuration, action].every((value) => value === undefined)) return {};
  return {
    commonHttpProtocolOptions: create(HttpProtocolOptionsSchema, {
      idleTimeout: idle,
      maxConnectionDuration: connectionDuration,
      maxStreamDuration: streamDuration,
      headersWithUnderscoresAction: action ?? EnvoyUnderscores.ALLOW,
    }),
  };
}

function http2Options(connection: ConnectionSettings | undefined, isHttp2: boolean) {
  const options = {
    maxConcurrentStreams: connection?.httpMaxConcurrentStreams,
    initialStreamWindowSize: connection?.http2InitialStreamWindowSize,
    initialConnectionWindowSize: connection?.http2InitialConnectionWindowSize,
  };
  const isStated = Object.values(options).some((value) => value !== undefined);
  return isHttp2 || isStated ? { http2ProtocolOptions: create(Http2ProtocolOptionsSchema, options) } : {};
}

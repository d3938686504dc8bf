/** `connectionSettings` of a ProxyConfig, with the values that the profile EDGE stands for. */
import { create, type Duration } from "@flotilla/proto";
import {
  type ProxyConfig_ConnectionSettings as ConnectionSettings,
  ProxyConfig_ConnectionSettingsSchema as ConnectionSettingsSchema,
  ProxyConfig_ConnectionSettings_PathWithEscapedSlashesAction as Escapes,
  ProxyConfig_ConnectionSettings_Profile as Profile,
  ProxyConfig_ConnectionSettings_HeadersWithUnderscoresAction as Underscores,
} from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { ownPart } from "../../snapshot/own-proxy-config.ts";
import { query } from "../../snapshot/view.ts";
import { durationOfMs } from "../envoy/duration.ts";

/**
 * Those of the proxy's own ProxyConfig as a whole, else of the mesh's default. The profile counts for gateways only.
 * As in istiod, clusterPerConnectionBufferLimitBytes and the limits of connections are not used: Envoy reads the limits from its bootstrap.
 */
export const connectionSettings = query<ConnectionSettings | undefined>("connection-settings", ({ mesh, proxy }) => {
  const settings = ownPart(proxy, "connectionSettings")?.value ?? mesh.defaultConfig?.connectionSettings;
  return settings?.profile === Profile.EDGE && proxy.type === "router" ? withEdgeProfile(settings) : settings;
});

function withEdgeProfile(settings: ConnectionSettings): ConnectionSettings {
  return create(ConnectionSettingsSchema, {
    ...settings,
    listenerPerConnectionBufferLimitBytes: settings.listenerPerConnectionBufferLimitBytes ?? 32_768,
    httpIdleTimeout: settings.httpIdleTimeout ?? seconds(3_600),
    httpStreamIdleTimeout: settings.httpStreamIdleTimeout ?? seconds(300),
    httpRequestTimeout: settings.httpRequestTimeout ?? seconds(300),
    httpRequestHeadersTimeout: settings.httpRequestHeadersTimeout ?? seconds(60),
    httpMaxConcurrentStreams: settings.httpMaxConcurrentStreams ?? 100,
    http2InitialStreamWindowSize: settings.http2InitialStreamWindowSize ?? 65_536,
    http2InitialConnectionWindowSize: settings.http2InitialConnectionWindowSize ?? 1_048_576,
    httpHeadersWithUnderscoresAction:
      settings.httpHeadersWithUnderscoresAction || Underscores.HEADERS_WITH_UNDERSCORES_REJECT_REQUEST,
    httpMergeSlashes: settings.httpMergeSlashes ?? true,
    httpPathWithEscapedSlashesAction: settings.httpPathWithEscapedSlashesAction || Escapes.UNESCAPE_AND_REDIRECT,
  });
}

function seconds(count: number): Duration | undefined {
  return durationOfMs(count * 1_000);
}

/** Filters that resolve the host which a request or a TLS handshake asks for, before a dynamic cluster connects to it. */
import { create, pack } from "@flotilla/proto";
import { type Filter, FilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { FilterConfigSchema as HttpSchema } from "@flotilla/proto/envoy/extensions/filters/http/dynamic_forward_proxy/v3/dynamic_forward_proxy_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { FilterConfigSchema as SniSchema } from "@flotilla/proto/envoy/extensions/filters/network/sni_dynamic_forward_proxy/v3/sni_dynamic_forward_proxy_pb";
import { type DnsCache, dnsCacheConfig } from "../clusters/dns-cache.ts";

/** By the Host header. */
export function dynamicForwardProxy(cache: DnsCache): HttpFilter {
  const config = create(HttpSchema, {
    implementationSpecifier: { case: "dnsCacheConfig", value: dnsCacheConfig(cache) },
  });
  return create(HttpFilterSchema, {
    name: "envoy.filters.http.dynamic_forward_proxy",
    configType: { case: "typedConfig", value: pack(HttpSchema, config) },
  });
}

/** By the server name of the handshake, at a fixed port. */
export function dynamicForwardProxyBySni(cache: DnsCache, port: number): Filter {
  const config = create(SniSchema, {
    dnsCacheConfig: dnsCacheConfig(cache),
    portSpecifier: { case: "portValue", value: port },
  });
  return create(FilterSchema, {
    name: "envoy.extensions.filters.network.sni_dynamic_forward_proxy",
    configType: { case: "typedConfig", value: pack(SniSchema, config) },
  });
}

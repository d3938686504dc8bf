/** Listener filters: they look at the first bytes of a connection before a filter chain is chosen. */
import { type Any, create, pack } from "@flotilla/proto";
import {
  type ListenerFilter,
  type ListenerFilterChainMatchPredicate,
  ListenerFilterChainMatchPredicateSchema,
  ListenerFilterSchema,
} from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { HttpInspectorSchema } from "@flotilla/proto/envoy/extensions/filters/listener/http_inspector/v3/http_inspector_pb";
import { OriginalDstSchema } from "@flotilla/proto/envoy/extensions/filters/listener/original_dst/v3/original_dst_pb";
import { OriginalSrcSchema } from "@flotilla/proto/envoy/extensions/filters/listener/original_src/v3/original_src_pb";
import { ProxyProtocolSchema } from "@flotilla/proto/envoy/extensions/filters/listener/proxy_protocol/v3/proxy_protocol_pb";
import { TlsInspectorSchema } from "@flotilla/proto/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb";

export const originalDestination = listenerFilter(
  "envoy.filters.listener.original_dst",
  pack(OriginalDstSchema, create(OriginalDstSchema)),
);

/** Calls the workload from the caller's address; the mark lets the answers find back. */
export const originalSource = listenerFilter(
  "envoy.filters.listener.original_src",
  pack(OriginalSrcSchema, create(OriginalSrcSchema, { mark: 1337 })),
);

/** Reads the caller's address from the header that a load balancer puts before the connection's own bytes. */
export const proxyProtocol = listenerFilter(
  "envoy.filters.listener.proxy_protocol",
  pack(ProxyProtocolSchema, create(ProxyProtocolSchema)),
);

/** Destination ports at which a filter need not, or alone need, look. */
export interface InspectedPorts {
  readonly skipPorts?: readonly number[];
  readonly onlyPorts?: readonly number[];
}

export function tlsInspector(ports: InspectedPorts = {}): ListenerFilter {
  // A small first read: nearly every ClientHello fits, and each connection holds the buffer.
  const config = pack(TlsInspectorSchema, create(TlsInspectorSchema, { initialReadBufferSize: 512 }));
  return listenerFilter("envoy.filters.listener.tls_inspector", config, ports);
}

export function httpInspector(ports: InspectedPorts = {}): ListenerFilter {
  return listenerFilter(
    "envoy.filters.listener.http_inspector",
    pack(HttpInspectorSchema, create(HttpInspectorSchema)),
    ports,
  );
}

function listenerFilter(name: string, value: Any, ports: InspectedPorts = {}): ListenerFilter {
  const filterDisabled = disabledWhere(ports);
  return create(ListenerFilterSchema, {
    name,
    configType: { case: "typedConfig", value },
    ...(filterDisabled && { filterDisabled }),
  });
}

function disabledWhere({ skipPorts = [], onlyPorts }: InspectedPorts): ListenerFilterChainMatchPredicate | undefined {
  const only = onlyPorts && isOneOf(onlyPorts);
  return only === undefined
    ? isOneOf(skipPorts)
    : create(ListenerFilterChainMatchPredicateSchema, { rule: { case: "notMatch", value: only } });
}

function isOneOf(ports: readonly number[]): ListenerFilterChainMatchPredicate | undefined {
  const rules = ports.map(isPort);
  if (rules.length < 2) return rules[0];
  return create(ListenerFilterChainMatchPredicateSchema, { rule: { case: "orMatch", value: { rules } } });
}

function isPort(port: number): ListenerFilterChainMatchPredicate {
  return create(ListenerFilterChainMatchPredicateSchema, {
    rule: { case: "destinationPortRange", value: { start: port, end: port + 1 } },
  });
}

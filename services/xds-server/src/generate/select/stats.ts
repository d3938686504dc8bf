/** Istio's own metrics: a filter that only proxies with Istio's extensions have. */
import { ownValue } from "@flotilla/model";
import { type Any, create, pack } from "@flotilla/proto";
import {
  PluginConfigSchema,
  Reporter,
} from "@flotilla/proto/contrib/envoy/extensions/filters/http/istio_stats/v3/istio_stats_pb";
import { HttpFilterSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { effectiveMetrics, sideOf, type TelemetryScope } from "../../snapshot/scope/telemetry.ts";
import { query } from "../../snapshot/view.ts";
import { networkFilter } from "../envoy/filters/network-filters.ts";
import { istioExtensions } from "../envoy/istio-extensions.ts";
import type { StatsFilters } from "../envoy/listeners/listener-traits.ts";

const none: StatsFilters = { http: [], network: [] };

export const statsFilters = query<StatsFilters, TelemetryScope>("stats-filters", (view, scope) => {
  const found = view.read(effectiveMetrics, scope);
  if (found === undefined || !view.proxy.supports(istioExtensions.stats)) return none;
  const [seconds, nanos] = found.reportingInterval ?? [];
  const config = create(PluginConfigSchema, {
    // The Host header of callers, of the workload's or from outside, is no name of a service that could be trusted.
    disableHostHeaderFallback: sideOf(scope) === "inbound" || view.proxy.type === "router",
    ...(view.proxy.type === "waypoint" && { reporter: Reporter.SERVER_GATEWAY }),
    ...(seconds !== undefined && { tcpReportingDuration: { seconds: BigInt(seconds), nanos: nanos ?? 0 } }),
    metrics: found.metrics.map(({ key, isDropped, tags, removedTags }) => ({
      name: ownValue(names, key) ?? key,
      drop: isDropped,
      dimensions: { ...tags },
      tagsToRemove: [...removedTags],
    })),
  });
  return filtersOf(pack(PluginConfigSchema, config));
});

function filtersOf(value: Any): StatsFilters {
  const http = create(HttpFilterSchema, { name: "istio.stats", configType: { case: "typedConfig", value } });
  return { http: [http], network: [networkFilter("istio.stats", value)] };
}

/** Names of Telemetry's metrics as Prometheus has them, after `istio_`. */
const names: Readonly<Record<string, string>> = {
  REQUEST_COUNT: "requests_total",
  REQUEST_DURATION: "request_duration_milliseconds",
  REQUEST_SIZE: "request_bytes",
  RESPONSE_SIZE: "response_bytes",
  TCP_OPENED_CONNECTIONS: "tcp_connections_opened_total",
  TCP_CLOSED_CONNECTIONS: "tcp_connections_closed_total",
  TCP_SENT_BYTES: "tcp_sent_bytes_total",
  TCP_RECEIVED_BYTES: "tcp_received_bytes_total",
  GRPC_REQUEST_MESSAGES: "request_messages_total",
  GRPC_RESPONSE_MESSAGES: "response_messages_total",
};

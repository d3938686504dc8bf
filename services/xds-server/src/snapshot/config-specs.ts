/** Decodes the specs of configuration objects: protobuf JSON as sources have it → messages, once. */
import { isRoute, readRoute } from "@flotilla/gateway-api";
import { type Config, isObject, type JsonObject, withoutNulls } from "@flotilla/model";
import { fromJson, type GenMessage, type JsonValue, type Message, withSeconds } from "@flotilla/proto";
import { TrafficExtensionSchema } from "@flotilla/proto/extensions/v1alpha1/traffic_extension_pb";
import { WasmPluginSchema } from "@flotilla/proto/extensions/v1alpha1/wasm_pb";
import { DestinationRuleSchema } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { EnvoyFilterSchema } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { GatewaySchema } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { ServiceEntrySchema } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import { SidecarSchema } from "@flotilla/proto/networking/v1alpha3/sidecar_pb";
import { VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { WorkloadEntrySchema } from "@flotilla/proto/networking/v1alpha3/workload_entry_pb";
import { WorkloadGroupSchema } from "@flotilla/proto/networking/v1alpha3/workload_group_pb";
import { ProxyConfigSchema } from "@flotilla/proto/networking/v1beta1/proxy_config_pb";
import { AuthorizationPolicySchema } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { PeerAuthenticationSchema } from "@flotilla/proto/security/v1beta1/peer_authentication_pb";
import { RequestAuthenticationSchema } from "@flotilla/proto/security/v1beta1/request_authentication_pb";
import { type Telemetry, TelemetrySchema, type Tracing } from "@flotilla/proto/telemetry/v1alpha1/telemetry_pb";

const schemas: ReadonlyMap<string, GenMessage<Message>> = new Map<string, GenMessage<Message>>([
  ["AuthorizationPolicy", AuthorizationPolicySchema],
  ["DestinationRule", DestinationRuleSchema],
  ["EnvoyFilter", EnvoyFilterSchema],
  ["Gateway", GatewaySchema],
  ["PeerAuthentication", PeerAuthenticationSchema],
  ["ProxyConfig", ProxyConfigSchema],
  ["RequestAuthentication", RequestAuthenticationSchema],
  ["ServiceEntry", ServiceEntrySchema],
  ["Sidecar", SidecarSchema],
  ["Telemetry", TelemetrySchema],
  ["TrafficExtension", TrafficExtensionSchema],
  ["VirtualService", VirtualServiceSchema],
  ["WasmPlugin", WasmPluginSchema],
  ["WorkloadEntry", WorkloadEntrySchema],
  ["WorkloadGroup", WorkloadGroupSchema],
]);

/**
 * Kinds without a message (Namespace, Secret, Gateways of the Gateway API) stay as they are, but for nulls, which count as absent.
 * @throws when the spec is not of its kind's form; the message names the field.
 */
export function decodeSpec(config: Config): Config {
  if (isRoute(config.key)) return readRoute(config);
  const schema = schemas.get(config.key.kind);
  if (schema === undefined) return { ...config, spec: isObject(config.spec) ? withoutNulls(config.spec) : {} };
  const json = withSeconds(schema, (config.spec ?? {}) as JsonObject as JsonValue);
  const spec = fromJson(schema, json, { ignoreUnknownFields: true });
  return { ...config, spec: config.key.kind === "Telemetry" ? withClearedTags(spec as Telemetry, json) : spec };
}

/** An empty map of tags takes those of wider objects away; messages do not distinguish it from none. */
export interface TracingRule extends Tracing {
  readonly clearsTags?: true;
}

export interface TelemetrySpec extends Omit<Telemetry, "tracing"> {
  readonly tracing: readonly TracingRule[];
}

function withClearedTags(spec: Telemetry, json: JsonValue): TelemetrySpec {
  const stated = ((json as JsonObject)["tracing"] ?? []) as readonly JsonObject[];
  return {
    ...spec,
    tracing: spec.tracing.map((rule, index): TracingRule => {
      const tags = stated[index]?.["customTags"] ?? stated[index]?.["custom_tags"] ?? undefined;
      const isEmpty = tags !== undefined && Object.keys(rule.customTags).length === 0;
      return isEmpty ? { ...rule, clearsTags: true } : rule;
    }),
  };
}

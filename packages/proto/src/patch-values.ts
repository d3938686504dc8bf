/** Values of EnvoyFilters' patches by what they apply to: the message that each is part of, and how it is read. */
import type { Message } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { BootstrapSchema } from "@flotilla/proto/envoy/config/bootstrap/v3/bootstrap_pb";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { TypedExtensionConfigSchema } from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import {
  FilterChainSchema,
  FilterSchema,
  ListenerFilterSchema,
} from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { RouteSchema, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { HttpFilterSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { EnvoyFilter_ApplyTo as ApplyTo } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { ProtoError } from "./errors.ts";
import { fromJson } from "./json.ts";

const schemas: ReadonlyMap<ApplyTo, GenMessage<Message>> = new Map<ApplyTo, GenMessage<Message>>([
  [ApplyTo.LISTENER, ListenerSchema],
  [ApplyTo.FILTER_CHAIN, FilterChainSchema],
  [ApplyTo.NETWORK_FILTER, FilterSchema],
  [ApplyTo.HTTP_FILTER, HttpFilterSchema],
  [ApplyTo.ROUTE_CONFIGURATION, RouteConfigurationSchema],
  [ApplyTo.VIRTUAL_HOST, VirtualHostSchema],
  [ApplyTo.HTTP_ROUTE, RouteSchema],
  [ApplyTo.CLUSTER, ClusterSchema],
  [ApplyTo.EXTENSION_CONFIG, TypedExtensionConfigSchema],
  [ApplyTo.BOOTSTRAP, BootstrapSchema],
  [ApplyTo.LISTENER_FILTER, ListenerFilterSchema],
]);

/** A message; with a doubt where fields that it does not have were left out, as istiod has it. */
export type PatchValue = { readonly value: Message; readonly doubt?: string } | { readonly fault: string };

/** Undefined for what can not be patched. */
export function readPatchValue(applyTo: ApplyTo, json: unknown): PatchValue | undefined {
  const schema = schemas.get(applyTo);
  if (schema === undefined) return undefined;
  type Json = Parameters<typeof fromJson>[1];
  try {
    return { value: fromJson(schema, json as Json) };
  } catch (strict) {
    // The library leaves them out where it leaves out unknown fields; istiod refuses the value.
    if (reasonOf(strict).startsWith("cannot decode enum")) return { fault: reasonOf(strict) };
    try {
      const value = fromJson(schema, json as Json, { ignoreUnknownFields: true });
      return { value, doubt: `${reasonOf(strict)}; the other fields are used` };
    } catch (cause) {
      return { fault: reasonOf(cause) };
    }
  }
}

/** Why a value is refused (a fault) or used in part (a doubt); by the name that objects have for what it applies to. */
export function patchValueProblem(
  applyTo: string,
  json: unknown,
): { readonly reason: string; readonly isFault: boolean } | undefined {
  const read = readPatchValue(ApplyTo[applyTo as keyof typeof ApplyTo], json);
  if (read === undefined) return undefined;
  if ("fault" in read) return { reason: read.fault, isFault: true };
  return read.doubt === undefined ? undefined : { reason: read.doubt, isFault: false };
}

/** The innermost message of an error: outer ones name the type only. */
export function reasonOf(error: unknown): string {
  if (error instanceof ProtoError && error.cause !== undefined) return reasonOf(error.cause);
  return error instanceof Error ? error.message : String(error);
}
